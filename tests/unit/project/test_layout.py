"""Checks the layout of the code and the tests: imports, folders, groups of tests, annotations."""

from __future__ import annotations

import ast
import os
import re
import shlex
import tomllib
from collections import Counter
from collections.abc import Iterable, Iterator
from functools import cache
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest
import yaml

from penstock_web.cli import MODULES

ROOT = Path(__file__).parents[3]

# --- imports ---------------------------------------------------------------------------------------------------------
# Checks that packages and modules import each other in only one direction. Imports that only type checkers see also
# count.


@cache
def import_nodes(path: Path) -> list[ast.Import | ast.ImportFrom]:
    return [node for node in ast.walk(ast.parse(path.read_text())) if isinstance(node, ast.Import | ast.ImportFrom)]


def imported(path: Path, package: str) -> Iterator[str]:
    """Yields the absolute names that a module imports anywhere in its code."""
    for node in import_nodes(path):
        if isinstance(node, ast.Import):
            yield from (name.name for name in node.names)
        else:
            above = package.split(".")[: len(package.split(".")) - node.level + 1] if node.level else []
            base = ".".join([*above, *([node.module] if node.module else [])])
            yield from (f"{base}.{name.name}" for name in node.names)


def graph_of(folder: Path) -> dict[str, set[str]]:
    """Maps each first name below the package, such as `sqs` or `gateway`, to the other first names that it imports."""
    graph: dict[str, set[str]] = {}
    for path in sorted(folder.rglob("*.py")):
        parts = path.relative_to(folder.parent).with_suffix("").parts
        own = parts[1]
        if own == "__init__":
            continue
        found = {
            name.split(".")[1] for name in imported(path, ".".join(parts[:-1])) if name.startswith(f"{folder.name}.")
        }
        graph.setdefault(own, set()).update(found - {own, "__version__"})
    return graph


def module_graph(folder: Path) -> dict[str, set[str]]:
    """Maps each module to the modules of the folder that it imports."""
    paths = {".".join(path.relative_to(folder.parent).with_suffix("").parts): path for path in folder.rglob("*.py")}
    modules = {name.removesuffix(".__init__") for name in paths}
    graph: dict[str, set[str]] = {}
    for name, path in paths.items():
        found = set()
        for target in imported(path, name.rpartition(".")[0]):
            # In `from .a import b`, b is a module or a name in a module.
            found |= {target} & modules or {target.rpartition(".")[0]} & modules
        graph[name.removesuffix(".__init__")] = found - {name.removesuffix(".__init__")}
    return graph


@pytest.mark.parametrize("folder", ["layers/core/penstock", "layers/web/penstock_web"])
def test_no_module_imports_one_that_imports_it(folder: str) -> None:
    graph = module_graph(ROOT / folder)
    assert len(graph) > 50
    assert any(graph.values())
    TopologicalSorter(graph).prepare()  # raises CycleError


@pytest.mark.parametrize("folder", ["layers/core/penstock", "layers/web/penstock_web"])
def test_no_package_imports_one_that_imports_it(folder: str) -> None:
    graph = graph_of(ROOT / folder)
    assert len(graph) > 10
    assert any(graph.values())
    TopologicalSorter(graph).prepare()  # raises CycleError


def test_the_worker_imports_no_other_layer() -> None:
    """Applications install its wheel without the service's wheel."""
    found = imported_by(ROOT / "layers/worker/penstock_worker", ROOT / "layers/worker")
    assert {name for _, name in found if name.startswith(("penstock.", "penstock_web."))} == set()


@pytest.mark.parametrize("folder", ["layers/core/penstock", "layers/web/penstock_web", "jobs/penstock_metrics"])
def test_imports_from_the_own_package_are_relative(folder: str) -> None:
    """Ruff refuses relative imports from parent packages (`..`). Spark runs submit.py as a script without a package."""
    root = ROOT / folder
    found = [
        f"{path.relative_to(ROOT)}: {node.module}"
        for path in root.rglob("*.py")
        if path.name != "submit.py"
        for node in import_nodes(path)
        if isinstance(node, ast.ImportFrom)
        and f"{node.module}.".startswith(".".join(path.parent.relative_to(root.parent).parts) + ".")
    ]
    assert found == []


@pytest.mark.parametrize("folder", ["layers", "jobs"])
def test_the_name_of_an_upper_limit_begins_with_max(folder: str) -> None:
    found = [
        f"{path.relative_to(ROOT)}: {name}"
        for path in (ROOT / folder).rglob("*.py")
        for name in re.findall(r"^_?(?:MOST|LONGEST|LARGEST|MAXIMUM)(?:_[A-Z0-9_]+)?\b", path.read_text(), re.MULTILINE)
    ]
    assert found == []


@pytest.mark.parametrize("folder", ["layers", "functions", "jobs", "infra", "tests", "benchmarks", "examples"])
def test_a_function_builds_or_creates_and_does_not_make(folder: str) -> None:
    """CONTRIBUTING.md, "Words": `build_` returns a value, and `create_` changes something outside the process."""
    files = {path: re.findall(r"def (_?make(?:_\w+)?)\(", path.read_text()) for path in (ROOT / folder).rglob("*.py")}
    assert files
    assert {path.relative_to(ROOT).as_posix(): names for path, names in files.items() if names} == {}


def test_core_does_not_start_the_container() -> None:
    """The other import tests do not detect a module that the code starts by name."""
    root = ROOT / "layers/core/penstock"
    started = {
        path.name
        for path in root.rglob("*.py")
        if "penstock_web" in (text := path.read_text())
        for node in ast.walk(ast.parse(text))
        if isinstance(node, ast.Constant) and re.fullmatch(r"penstock_web(\.\w+)*", str(node.value))
    }
    assert started == set()


def test_the_interface_of_delivery_imports_no_carrier() -> None:
    """A new carrier is a new folder next to the folders of the other carriers. Only `workers/deliver.py` imports a
    carrier."""
    folder = ROOT / "layers/core/penstock/delivery"
    carriers = {path.name for path in folder.iterdir() if (path / "__init__.py").exists()}
    assert carriers == {"http", "mail", "functions"}
    for path in folder.glob("*.py"):
        imports = [name.removeprefix("penstock.delivery.") for name in imported(path, "penstock.delivery")]
        assert not [name for name in imports if name.split(".")[0] in carriers], path.name


def imported_by(folder: Path, root: Path) -> set[tuple[str, str]]:
    """Returns each file in a folder together with each name that it imports. `root` is the root of the layer."""
    files = list(folder.rglob("*.py"))
    assert files
    return {
        (file.relative_to(root).as_posix(), name)
        for file in files
        for name in imported(file, ".".join(file.relative_to(root).parent.parts))
    }


def test_each_command_is_a_module_of_commands() -> None:
    """The modules beside `commands/` have the code that commands share (ARCHITECTURE.md)."""
    folder = ROOT / "layers/web/penstock_web/cli"
    with_app = {path for path in folder.rglob("*.py") if re.search(r"^app = typer\.", path.read_text(), re.MULTILINE)}
    assert with_app == set(folder.glob("commands/[!_]*.py"))
    assert {path.stem for path in with_app} == {name for names in MODULES.values() for name in names}


@pytest.mark.parametrize("package", ["console", "cli", "mcp", "report", "manifest", "metrics", "routing"])
def test_only_applications_import_the_rest_api(package: str) -> None:
    web = ROOT / "layers/web"
    found = imported_by(web / "penstock_web" / package, web)
    assert {
        imported_name for imported_name in found if f"{imported_name[1]}.".startswith("penstock_web.rest.")
    } == set()


def test_no_screen_of_the_console_imports_another_screen() -> None:
    """Modules of `console/` contain what several screens share."""
    web = ROOT / "layers/web"
    found = imported_by(web / "penstock_web/console/screens", web)
    assert {(file, name) for file, name in found if name.startswith("penstock_web.console.screens.")} == set()


def test_the_management_plane_knows_no_http() -> None:
    core = ROOT / "layers/core"
    refused = ("fastapi.", "starlette.", "pydantic.", "penstock_web.", "mcp.")
    found = imported_by(core / "penstock/management", core)
    assert {imported_name for imported_name in found if f"{imported_name[1]}.".startswith(refused)} == set()


WITH_CALLS = {"console/sign_in.py"}  # Only the console has sessions (decision 19).


@pytest.mark.parametrize("package", ["", "console", "rest", "mcp", "cli"])
def test_interfaces_declare_no_operation(package: str) -> None:
    """Operations of `management/` check rights and call SQL, so no interface can forget a right or a row of the audit
    log (decision 19).
    """
    web = ROOT / "layers/web/penstock_web"
    calls = {
        (path.relative_to(web).as_posix(), node.func.id)
        for path in (web / package).rglob("*.py")
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name)
    }
    assert calls
    refused = {"needs", "Call", "BatchCall"} if package else {"needs"}
    assert {path for path, name in calls if name in refused} == (WITH_CALLS if package == "console" else set())


def test_documents_have_one_schema_library() -> None:
    found = imported_by(ROOT / "layers", ROOT / "layers")
    assert {file for file, name in found if name.partition(".")[0] == "pydantic"} == set()


def test_a_circle_is_found() -> None:
    with pytest.raises(CycleError):
        TopologicalSorter({"context": {"access"}, "access": {"context"}}).prepare()


def test_the_root_of_the_container_has_three_modules() -> None:
    root = ROOT / "layers/web/penstock_web"
    assert {path.name for path in root.glob("[!_]*.py")} == {"application.py", "server.py", "local_error.py"}


# --- folders ---------------------------------------------------------------------------------------------------------
# Checks the folders in tests/, which tests/README.md describes, and the number of files in each folder.
TESTS = ROOT / "tests"
KINDS = {"unit", "integration", "conformance", "system", "support"}
LARGEST_FOLDER = 20
LONGEST_FILE = 500  # lines
# These folders can contain more files, because they have one file for each operation. Maps each larger folder to the
# reason.
LARGER = {
    "functions/sqs": "a function of Lambda per action, generated",
    "functions/sns": "likewise",
    "functions/events": "likewise",
    "layers/web/penstock_web/cli/commands": "a module for each command",
    "layers/web/penstock_web/rest": "a module for each subject of the API",
    "layers/web/penstock_web/console/screens": "a module for each subject of the console",
    "sql/functions/api": "what applications may call, a function a file",
}

# A module that imports one of these modules starts a server or uses a running server.
SERVERS = ("tests.support.database", "tests.support.programs", "pyspark.sql")
# These unit tests start a Python interpreter or a script, because they test imports or output.
WITH_INTERPRETER = {
    "access/test_secret_encryption.py",
    "project/test_deployment_files.py",
    "scheduler/expressions/test_aws_forms.py",
    "observing/test_telemetry.py",
}


def imports_of(path: Path) -> set[str]:
    """Returns the modules that a file imports, and `module.name` for each imported name."""
    found = set()
    for node in import_nodes(path):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif node.module:
            found |= {node.module, *(f"{node.module}.{alias.name}" for alias in node.names)}
    return found


def test_there_are_five_folders_and_one_conftest() -> None:
    found = {path.name for path in TESTS.iterdir() if path.name != "__pycache__"}
    assert found == KINDS | {"README.md", "conftest.py"}


@pytest.mark.parametrize("root", ["benchmarks", "examples", "functions", "infra", "jobs", "layers", "sql", "tests"])
def test_no_folder_is_too_large(root: str) -> None:
    files = Counter(
        path.parent.relative_to(ROOT).as_posix()
        for path in (ROOT / root).rglob("*")
        if path.suffix in {".py", ".sql"} and path.name != "__init__.py"
    )
    assert files
    too_large = {folder for folder, number in files.items() if number > LARGEST_FOLDER}
    assert too_large == {folder for folder in LARGER if folder.partition("/")[0] == root}


def test_no_file_is_too_long() -> None:
    folders = [ROOT / name for name in ("benchmarks", "infra", "jobs", "layers", "tests")]
    counts = {path: path.read_text().count("\n") for folder in folders for path in folder.rglob("*.py")}
    assert counts
    assert [path.relative_to(ROOT).as_posix() for path, lines in counts.items() if lines >= LONGEST_FILE] == []


def test_no_test_asserts_a_duration() -> None:
    """The result of such a test would depend on the speed of the machine. Instead, a test waits for an event or moves a
    clock."""
    clock = re.compile(r"(?:time\.)?(?:monotonic|perf_counter|time)(?:_ns)?\(\) - ")
    found = {
        f"{path.relative_to(TESTS)}:{node.lineno}"
        for path in TESTS.rglob("test_*.py")
        if clock.search(text := path.read_text())
        for node in ast.walk(ast.parse(text))
        if isinstance(node, ast.Assert) and clock.match(ast.unparse(node.test))
    }
    assert found == set()


@pytest.mark.parametrize("kind", sorted(KINDS))
def test_helpers_are_in_support_and_tests_are_not(kind: str) -> None:
    names = [path.name for path in (TESTS / kind).rglob("*.py")]
    tests = [name for name in names if name.startswith("test_") or name == "conftest.py"]
    assert tests == ([] if kind == "support" else names)


def test_no_file_imports_from_a_test_file() -> None:
    """Shared helpers belong to `support` or to a conftest."""
    found = {
        (path.relative_to(ROOT).as_posix(), module)
        for path in TESTS.rglob("*.py")
        for module in imports_of(path)
        if any(part.startswith("test_") for part in module.split(".")) and module.startswith("tests.")
    }
    assert found == set()


def test_unit_tests_need_no_server_and_no_process() -> None:
    with_interpreter = set()
    for path in sorted((TESTS / "unit").rglob("*.py")):
        imported = imports_of(path)
        name = path.relative_to(TESTS / "unit").as_posix()
        assert [module for module in imported if module.startswith(SERVERS)] == [], name
        if "subprocess" in imported:
            with_interpreter.add(name)
    assert with_interpreter == WITH_INTERPRETER


# --- groups of tests -------------------------------------------------------------------------------------------------
# Checks that tests that share an expensive resource (a JVM, a service) form a group, which runs in one process. Other
# targets run the tests that `make test` excludes, so every test runs.
FOLDERS = ("unit", "integration", "conformance", "system")
SPARK = ROOT / "tests/integration/jobs"


@pytest.mark.xdist_group("together")
def test_groups_are_kept_together(request: pytest.FixtureRequest) -> None:
    """pytest-xdist does not report the failure, so the versions of pytest and pytest-xdist must be compatible
    (pyproject.toml)."""
    among_others = "PYTEST_XDIST_WORKER" in os.environ
    assert request.node.nodeid.endswith("@together") is among_others


@pytest.fixture(scope="module")
def shared() -> int:
    return os.getpid()


def test_a_fixture_of_the_module_makes_a_group(request: pytest.FixtureRequest, shared: int) -> None:
    among_others = "PYTEST_XDIST_WORKER" in os.environ
    assert request.node.nodeid.endswith("@tests/unit/project/test_layout.py") is among_others


def left_out() -> set[str]:
    """Returns the marks whose tests `make test` excludes."""
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["pytest"]["ini_options"]
    options = settings["addopts"]
    return set(re.findall(r"not (\w+)", options[options.index("-m") + 1]))


def test_each_mark_outside_make_test_has_a_target() -> None:
    recipes = [line.lstrip("\t@") for line in (ROOT / "Makefile").read_text().splitlines() if "pytest" in line]
    run = {match[1] for recipe in recipes for match in re.finditer(r'pytest .*-m "?(\w+)', recipe)}
    # `make clients` selects its tests by folder.
    assert left_out() - run == {"clients"}


def test_each_folder_has_a_target() -> None:
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["pytest"]["ini_options"]
    left = {f"tests/{name}" for name in FOLDERS} - set(settings["testpaths"])
    assert left == {"tests/system"}
    assert "--timeout $(TEST_SECONDS) tests/system $(ARGS)" in (ROOT / "Makefile").read_text()


def list_targets(commands: Iterable[str]) -> set[str]:
    """Returns the targets and the variables of the commands that call make, without make's options."""
    words = [word for command in map(shlex.split, commands) if command[:1] == ["make"] for word in command[1:]]
    return {word for word in words if not word.startswith("--")}


def test_ci_runs_all_of_them() -> None:
    """The script, the workflow and CONTRIBUTING.md name the same targets."""
    targets = list_targets((ROOT / ".ci/run").read_text().splitlines())
    assert {"check", "test", "test-system", "test-metrics", "test-docs", "test-browser"} <= targets
    jobs = yaml.safe_load((ROOT / ".github/workflows/check.yml").read_text())["jobs"]
    assert "macos" in jobs["macos"]["runs-on"]
    steps = [step for name, job in jobs.items() if name != "macos" for step in job["steps"]]
    assert list_targets(step.get("run", "") for step in steps) == targets
    text = (ROOT / "CONTRIBUTING.md").read_text()
    (sentence,) = re.findall(r"^CI \(`.+?\) runs (.+?)\. ", text, re.DOTALL | re.MULTILINE)
    assert list_targets(re.findall(r"`(.+?)`", sentence)) == targets


@pytest.mark.parametrize("path", sorted(SPARK.glob("test_*.py")), ids=lambda path: path.stem)
def test_a_test_that_starts_spark_is_marked(path: Path) -> None:
    """A test of the job without a Spark session stays in `make test`."""
    text = path.read_text()
    marked = "pytest.mark.metrics" in text
    assert ('xdist_group("spark")' in text) is marked
    assert marked or "SparkSession" not in text


# --- annotations -----------------------------------------------------------------------------------------------------
# `Any` disables the type checker, so the number of lines in layers/ that contain `Any` must not increase.
LAYERS = ROOT / "layers"
MAX_LINES = 148


def lines_with_any(code: str) -> set[int]:
    """Returns the lines that use the name, including quoted annotations but excluding imports."""
    return set(_uses(ast.parse(code)))


def _uses(tree: ast.AST) -> Iterator[int]:
    for node in ast.walk(tree):
        match node:
            case ast.Name(id="Any", lineno=line) | ast.Attribute(attr="Any", lineno=line):
                yield line
            case ast.Constant(value=str(text), lineno=line) if "Any" in text and _is_annotation(text):
                yield line


def _is_annotation(text: str) -> bool:
    """Returns whether a string is an expression that contains the name, as in casts and forward references."""
    try:
        return any(_uses(ast.parse(text, mode="eval")))
    except SyntaxError:
        return False


def test_any_is_used_in_few_lines_of_the_layers() -> None:
    files = [path for path in LAYERS.rglob("*.py") if path.parent.name != "starter"]  # a user's application
    counts = {path: len(lines_with_any(path.read_text())) for path in files}
    assert len(counts) > 200
    assert sum(counts.values()) <= MAX_LINES, sorted(counts.items(), key=lambda item: -item[1])[:20]


def test_uses_are_counted_by_line() -> None:
    code = '''
from typing import Any, cast
import typing as t

def f(a: Any, b: dict[str, Any]) -> t.Any:
    """Any words."""
    return cast("list[Any]", a)

text = "Any"
'''
    assert lines_with_any(code) == {5, 7, 9}
