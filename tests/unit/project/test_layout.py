"""The folders of tests/, as tests/README.md describes them; and how many files a folder of the code has."""

from __future__ import annotations

import ast
from collections import Counter
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]
TESTS = ROOT / "tests"
KINDS = {"unit", "integration", "conformance", "system", "support"}
LARGEST_FOLDER = 20
# Folders of the code that hold one file per operation may hold more: folder and reason.
LARGER = {
    "functions/sqs": "a function of Lambda per action, generated",
    "functions/sns": "likewise",
    "sql/functions/api": "what applications may call, a function a file",
}

# Whoever imports one of these starts a server or uses one that runs.
SERVERS = ("tests.support.database", "tests.support.programs", "pyspark.sql")
# Unit tests that start a Python interpreter or a script, since what that imports or says is their subject.
WITH_INTERPRETER = {
    "access/test_secret_encryption.py",
    "project/test_layers.py",
    "scheduler/expressions/test_imports.py",
    "test_telemetry.py",
}


def imports_of(path: Path) -> set[str]:
    """The modules that a file imports, and `module.name` for what it imports from one."""
    found = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            found |= {node.module, *(f"{node.module}.{alias.name}" for alias in node.names)}
    return found


def test_there_are_five_folders_and_one_conftest() -> None:
    found = {path.name for path in TESTS.iterdir() if path.name != "__pycache__"}
    assert found == KINDS | {"README.md", "conftest.py"}


@pytest.mark.parametrize(
    "root", ["benchmarks", "examples", "functions", "infra", "jobs", "layers", "sql", "tests"]
)
def test_no_folder_is_too_large(root: str) -> None:
    files = Counter(
        path.parent.relative_to(ROOT).as_posix()
        for path in (ROOT / root).rglob("*")
        if path.suffix in {".py", ".sql"} and path.name != "__init__.py"
    )
    assert files
    too_large = {folder for folder, number in files.items() if number > LARGEST_FOLDER}
    assert too_large == {folder for folder in LARGER if folder.partition("/")[0] == root}


@pytest.mark.parametrize("kind", sorted(KINDS))
def test_helpers_are_in_support_and_tests_are_not(kind: str) -> None:
    names = [path.name for path in (TESTS / kind).rglob("*.py")]
    tests = [name for name in names if name.startswith("test_") or name == "conftest.py"]
    assert tests == ([] if kind == "support" else names)


def test_unit_tests_need_no_server_and_no_process() -> None:
    with_interpreter = set()
    for path in sorted((TESTS / "unit").rglob("*.py")):
        imported = imports_of(path)
        name = path.relative_to(TESTS / "unit").as_posix()
        assert [module for module in imported if module.startswith(SERVERS)] == [], name
        if "subprocess" in imported:
            with_interpreter.add(name)
    assert with_interpreter == WITH_INTERPRETER
