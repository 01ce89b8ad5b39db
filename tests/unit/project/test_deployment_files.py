"""Checks the files of deployments: templates, charts, images, layers and lock files."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
import tomllib
from importlib.metadata import packages_distributions
from pathlib import Path
from typing import Any

import pytest
import yaml

from infra.generate.load_balancer import has_rule
from penstock.actions import ACTIONS
from penstock.settings import SETTINGS, Settings
from tests.support.local_lambda.__main__ import PARAMETERS
from tests.support.local_lambda.template import CloudFormationLoader, expand_for_each

ROOT = Path(__file__).parents[3]

# --- open to whom ----------------------------------------------------------------------------------------------------
# Checks that every deployment requires signatures by default, except for a deployment that is limited to one machine.
SECRETS = ("DATABASE_URL", "DATABASE_DIRECT_URL", *(each.name for each in SETTINGS if each.secret))


@pytest.fixture(scope="module")
def template() -> dict[str, Any]:
    # S506: it is a SafeLoader
    loaded: dict[str, Any] = yaml.load((ROOT / "template.yaml").read_text(), CloudFormationLoader)
    return loaded


def test_a_stack_of_functions_asks_for_signatures(template: dict[str, Any]) -> None:
    assert template["Parameters"]["Access"]["Default"] == "sigv4"
    variables = template["Globals"]["Function"]["Environment"]["Variables"]
    assert variables["QUEUE_ACCESS"] == {"Ref": "Access"}
    assert variables["QUEUE_SECRET"] == {"Ref": "DatabaseSecret"}


def test_no_function_has_a_secret_in_its_variables(template: dict[str, Any]) -> None:
    """Every user with the right lambda:GetFunctionConfiguration can read the variables."""
    variables = template["Globals"]["Function"]["Environment"]["Variables"]
    assert {name: variables.get(name, "") for name in SECRETS} == dict.fromkeys(SECRETS, "")
    assert "{{resolve:" not in (ROOT / "template.yaml").read_text()


def test_the_http_api_has_a_limit_of_its_own(template: dict[str, Any]) -> None:
    limits = template["Resources"]["Api"]["Properties"]["DefaultRouteSettings"]
    assert limits == {
        "ThrottlingRateLimit": {"Ref": "RequestsPerSecond"},
        "ThrottlingBurstLimit": {"Ref": "RequestBurst"},
    }


def test_on_this_machine_functions_are_open() -> None:
    options = tomllib.loads((ROOT / "samconfig.toml").read_text())["default"]
    # No other deployment file contains the option.
    assert list(options) == ["deploy", "local_start_api"]
    assert options["deploy"]["parameters"].keys() == {"stack_name"}
    assert options["local_start_api"]["parameters"] == {"parameter_overrides": "Access=off"}
    assert PARAMETERS == {"Access": "off"}


def test_containers_ask_for_signatures_and_have_a_first_key() -> None:
    dockerfile = (ROOT / "infra/container/Dockerfile").read_text()
    assert re.search(r"^ENV .*\bQUEUE_ACCESS=sigv4$", dockerfile, re.MULTILINE)
    assert re.search(r"^CMD .*--first-key", dockerfile, re.MULTILINE)
    compose = yaml.safe_load((ROOT / "infra/container/compose.yaml").read_text())
    assert compose["x-environment"]["QUEUE_ACCESS"] == "${QUEUE_ACCESS:-sigv4}"
    assert "--first-key" in compose["services"]["migrate"]["command"]


def test_load_balancers_of_other_accounts_invoke_nothing() -> None:
    # S506: it is a SafeLoader
    loaded = yaml.load((ROOT / "infra/alb/template.yaml").read_text(), CloudFormationLoader)
    resources = expand_for_each(loaded["Resources"])
    allowed = [each["Properties"] for each in resources.values() if each["Type"] == "AWS::Lambda::Permission"]
    # The functions of the gateway and of the REST API do not belong to an action.
    assert len(allowed) == len([action for action in ACTIONS if has_rule(action)]) + 2
    for permission in allowed:
        assert permission["SourceAccount"] == {"Ref": "AWS::AccountId"}
        assert permission["SourceArn"]["Fn::Sub"].endswith(":${AWS::AccountId}:targetgroup/*")


def test_terraform_asks_for_signatures() -> None:
    """`make check-terraform` tests that Terraform's tasks create a first key."""
    root = (ROOT / "infra/terraform/main.tf").read_text()
    assert re.search(r'access += lookup\(var.settings, "QUEUE_ACCESS", "sigv4"\)', root)
    assert re.search(r"QUEUE_ACCESS += local.access", root)


def test_the_setting_itself_is_open() -> None:
    """`make run` and the tests of programs that use Penstock as a library listen only on the loopback address."""
    assert Settings.read({}).queue_access == "off"


# --- compose ---------------------------------------------------------------------------------------------------------
CONTAINER = ROOT / "infra/container"


def compose() -> dict[str, Any]:
    loaded: dict[str, Any] = yaml.safe_load((CONTAINER / "compose.yaml").read_text())
    return loaded


def test_compose_mounts_what_is_there_and_opens_ports_to_this_machine_only() -> None:
    for service in compose()["services"].values():
        for volume in service.get("volumes", []):
            source = volume.split(":")[0]
            assert source in compose()["volumes"] or (CONTAINER / source).exists()
        for port in service.get("ports", []):
            assert port.startswith("127.0.0.1:")


def test_compose_confines_the_service_and_its_workers() -> None:
    for name in ("migrate", "penstock", "workers"):
        service = compose()["services"][name]
        assert service["read_only"]
        assert service["cap_drop"] == ["ALL"]


# --- images ----------------------------------------------------------------------------------------------------------
# Checks that a release can name the base images by digest.
DOCKERFILE = (ROOT / "infra" / "container" / "Dockerfile").read_text()


def bases(text: str) -> set[str]:
    """Returns the base images of the stages, but not the stages that are base images of others."""
    lines = [line.split() for line in text.splitlines() if line.startswith("FROM ")]
    return {words[1] for words in lines} - {words[3] for words in lines if words[2:3] == ["AS"]}


def test_every_stage_has_the_base_of_the_argument() -> None:
    """Python's official images and their variants are built with --enable-optimizations."""
    assert re.findall(r"^ARG BASE=(\S+)", DOCKERFILE, re.MULTILINE) == ["python:3.12-slim-bookworm"]
    assert bases(DOCKERFILE) == {"${BASE}"}


def test_the_page_names_the_image_that_is_used() -> None:
    assert "`python:3.12-slim-bookworm`" in (ROOT / "docs" / "operate" / "containers.md").read_text()


# --- base images ------------------------------------------------------------------------------------------------------
COMPOSE = (ROOT / "infra/container/compose.yaml").read_text()
RELEASE = (ROOT / ".github/workflows/release.yml").read_text()
DOCKERFILES = sorted((ROOT / "infra/container").rglob("Dockerfile"))


@pytest.mark.parametrize("path", DOCKERFILES, ids=lambda path: path.parent.name)
def test_every_stage_is_on_one_build_argument(path: Path) -> None:
    """A release can therefore name the image by digest, and compose by a variable."""
    text = path.read_text()
    (base,) = re.findall(r"^ARG BASE=(\S+)", text, re.MULTILINE)
    assert bases(text) == {"${BASE}"}
    assert f':-{base}}}"' in COMPOSE
    assert f"dockerfile: {path.relative_to(ROOT)}\n" in RELEASE


def test_images_of_others_are_variables() -> None:
    services = yaml.safe_load(COMPOSE)["services"].values()
    others = [service["image"] for service in services if "build" not in service]
    assert len(others) == 3
    for image in others:
        assert re.fullmatch(r"\$\{[A-Z]+_IMAGE:-[a-z/]+:[\w.-]+\}", image)


def test_the_release_resolves_digests_itself() -> None:
    """The repository contains no digest, because such a digest would name an image that no one has downloaded."""
    assert "{{.Manifest.Digest}}" in RELEASE
    for text in (RELEASE, COMPOSE, *(path.read_text() for path in DOCKERFILES)):
        assert re.findall(r"sha256:[0-9a-f]", text) == []


# --- layers of Lambda ------------------------------------------------------------------------------------------------
# Checks that the Lambda layers contain no package that only the command line needs.
COMMAND_LINE = {"rich", "typer"}


def packages(lines: list[str]) -> set[str]:
    """Returns the names of packages, without versions and comments."""
    found = (re.match(r"[A-Za-z0-9_.-]+", line) for line in lines)
    return {match[0].lower() for match in found if match}


def test_the_wheel_brings_the_command_line() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    assert packages(project["dependencies"]) >= COMMAND_LINE


@pytest.mark.parametrize("layer", ["core", "web", "expressions"])
def test_layers_do_without_the_command_line(layer: str) -> None:
    named, locked = (
        packages((ROOT / "layers" / layer / name).read_text().splitlines())
        for name in ("requirements.in", "requirements.txt")
    )
    assert named
    assert named <= locked
    assert not locked & COMMAND_LINE


@pytest.mark.parametrize(("size", "code"), [(44_900_000, 0), (45_000_001, 1)])
def test_both_layers_are_compiled_and_the_core_has_a_limit(tmp_path: Path, size: int, code: int) -> None:
    """/opt is read-only on Lambda, so Python would compile a module without bytecode at each cold start."""
    modules = [tmp_path / "CoreLayer/python/penstock/module.py", tmp_path / "WebLayer/python/fastapi/module.py"]
    for module in modules:
        module.parent.mkdir(parents=True)
        module.write_text("")
    with (tmp_path / "CoreLayer/python/large").open("wb") as sparse:
        sparse.truncate(size)
    command: list[str | Path] = [ROOT / "infra/local/compile_layer.sh", sys.executable, tmp_path]
    assert subprocess.run(command, capture_output=True, check=False).returncode == code
    assert all(list(module.parent.glob("__pycache__/module.*.pyc")) for module in modules)


# --- lock files ------------------------------------------------------------------------------------------------------
# Checks that the lock files contain complete hashes, no addresses, and compatible versions.
LOCKS = sorted((ROOT / "requirements").glob("*.lock"))
LAYERS = sorted((ROOT / "layers").glob("*/requirements.txt"))


def pins(path: Path) -> dict[str, str]:
    """Maps a lock file's packages to versions. A package can have two entries for different platforms."""
    found = re.findall(r"^([a-z0-9._-]+)(?:\[[a-z,]+\])?==(\S+)", path.read_text(), re.MULTILINE)
    assert found, path
    return dict(found)


def test_there_are_locks() -> None:
    names = {path.name for path in LOCKS}
    assert names == {
        "browser.lock",
        "build.lock",
        "clients-airflow.lock",
        "clients-frameworks.lock",
        "clients-old.lock",
        "clients.lock",
        "dev.lock",
        "ha.lock",
        "iceberg.lock",
        "lambda.lock",
        "metrics.lock",
        "service.lock",
        "tools.lock",
        "tracing.lock",
        "uv.lock",
    }


@pytest.mark.parametrize("path", [*LOCKS, *LAYERS], ids=lambda p: str(p.relative_to(ROOT)))
def test_no_address_and_no_path_of_a_machine(path: Path) -> None:
    assert re.findall(r"://|index-url|find-links|(?<![\w.-])/\w+", path.read_text()) == []


@pytest.mark.parametrize("path", [*LOCKS, *LAYERS], ids=lambda p: str(p.relative_to(ROOT)))
def test_every_package_has_hashes(path: Path) -> None:
    packages = [part for part in re.split(r"^(?=[a-z0-9])", path.read_text(), flags=re.MULTILINE) if part.strip()]
    assert [part for part in packages if "--hash=sha256:" not in part] == []


CLIENTS = ROOT / "tests/support/clients"
FOREIGN_LOCKS = [
    CLIENTS / "node/package-lock.json",
    CLIENTS / "rust/crates.lock",
    *sorted(CLIENTS.glob("java/*/jars.sha256")),
]


@pytest.mark.parametrize("path", FOREIGN_LOCKS, ids=lambda p: str(p.relative_to(CLIENTS)))
def test_locks_of_clients_have_digests_and_no_registry(path: Path) -> None:
    text = path.read_text()
    assert re.findall(r"[0-9a-f]{64}|sha512-", text)
    assert re.findall(r'"resolved"|registry\+|^source = ', text, re.MULTILINE) == []


@pytest.mark.parametrize("program", ["camel", "events", "jms", "sdk", "spring"])
def test_every_program_for_the_jvm_has_its_lock(program: str) -> None:
    assert {path.name for path in (CLIENTS / "java" / program).iterdir()} >= {"pom.xml", "jars.sha256"}


def test_the_tested_versions_are_the_served_ones() -> None:
    """dev.lock contains the packages of service.lock with the same versions."""
    assert pins(ROOT / "requirements/service.lock").items() <= pins(ROOT / "requirements/dev.lock").items()


@pytest.mark.parametrize("extra", ["iceberg", "metrics", "tracing"])
def test_extras_can_be_installed_beside_the_others(extra: str) -> None:
    dev, lock = pins(ROOT / "requirements/dev.lock"), pins(ROOT / f"requirements/{extra}.lock")
    assert {name: version for name, version in lock.items() if dev.get(name, version) != version} == {}


def test_no_package_is_locked_for_both_metrics_and_iceberg() -> None:
    """The lock files are installed together, so each version is in only one of them."""
    both = pins(ROOT / "requirements/metrics.lock").keys() & pins(ROOT / "requirements/iceberg.lock").keys()
    assert both == set()


@pytest.mark.parametrize("path", LAYERS, ids=lambda p: p.parent.name)
def test_the_layers_have_the_versions_of_the_service(path: Path) -> None:
    assert pins(path).items() <= pins(ROOT / "requirements/service.lock").items()


def test_make_lambda_has_what_it_imports() -> None:
    """The test environment contains more packages, so without this check `make lambda` could fail in a new clone."""
    lock = pins(ROOT / "requirements/service.lock")
    imported = {
        name.partition(".")[0]
        for path in (ROOT / "tests/support/local_lambda").glob("*.py")
        for node in ast.walk(ast.parse(path.read_text()))
        for name in names_of(node)
    } - sys.stdlib_module_names
    packages = packages_distributions()
    missing = {
        module
        for module in imported - {"penstock", "penstock_web", "tests"}
        if not any(name.lower() in lock for name in packages[module])
    }
    assert "yaml" in imported
    assert missing == set()


def names_of(node: ast.AST) -> list[str]:
    """Returns the modules that a statement imports, except for modules of the same package."""
    if isinstance(node, ast.Import):
        return [alias.name for alias in node.names]
    if isinstance(node, ast.ImportFrom) and node.level == 0 and node.module:
        return [node.module]
    return []
