"""Tests in a fresh interpreter that each function imports only the modules that its action needs."""

import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

import pytest

from tests.support.functions.server import FUNCTIONS

pytestmark = pytest.mark.xdist_group("imports")  # one worker starts all these interpreters

PACKAGES = {"fastapi", "starlette", "mangum", "pydantic", "uvloop", "penstock_web"}
LATER = {"croniter", "cron_descriptor", "cryptography", "aws_lambda_powertools", "aws_xray_sdk", "boto3", "botocore"}
# Maps a function's name to the modules that only this function may import at its start.
NEEDED = {"deliver": {"httptools"}, "poll_mappings": {"httptools"}}
NAMES = sorted(
    ".".join(file.relative_to(FUNCTIONS).with_suffix("").parts)
    for file in FUNCTIONS.rglob("*.py")
    if file.stem != "rest"  # this function serves the REST API with FastAPI
)


def imported(name: str, driver: str = "") -> set[str]:
    """Returns every imported module after the import of a function without settings. The import neither fails nor
    connects.
    """
    result = subprocess.run(
        [sys.executable, "-c", f"import sys, {name}; print(*sys.modules)"],
        env={"PYTHONPATH": f"{FUNCTIONS}:{FUNCTIONS.parent / 'layers/core'}", "QUEUE_DATABASE_DRIVER": driver},
        capture_output=True,
        text=True,
        check=True,
    )
    return set(result.stdout.split())


@pytest.fixture(scope="module")
def modules() -> dict[str, set[str]]:
    with ThreadPoolExecutor(2) as threads:
        return dict(zip(NAMES, threads.map(imported, NAMES), strict=True))


def test_nothing_heavy(modules: dict[str, set[str]]) -> None:
    for name, found in modules.items():
        top = {module.partition(".")[0] for module in found}
        unneeded = PACKAGES | LATER | {"httptools", "pg8000"}
        assert not top & (unneeded - NEEDED.get(name, set())), name
        assert {"penstock", "psycopg"} <= top
        assert "penstock.management" not in found, name


@pytest.mark.parametrize("service", ["sqs", "sns", "scheduler"])
def test_a_function_of_an_action_has_no_other_operations(modules: dict[str, set[str]], service: str) -> None:
    own = {name: found for name, found in modules.items() if name.startswith(f"{service}.")}
    assert own
    for name, found in own.items():
        assert not {"xml.etree.ElementTree", "penstock.access.authentication", "penstock.access.resources"} & found, (
            name
        )
        if service == "sqs":
            others = ("penstock.sns.subscriptions", "penstock.sns.publishing.publish", "penstock.sns.topics")
            assert not [
                m
                for m in found
                if m.startswith(("penstock.scheduler.expressions", "penstock.sns.filter_policy", *others))
            ], name
        if service == "sns":
            assert not [m for m in found if m.startswith("penstock.scheduler.expressions")], name


def test_the_gateway_has_every_operation(modules: dict[str, set[str]]) -> None:
    services = ("sqs.", "sns.", "scheduler.")
    actions = [found for name, found in modules.items() if name.startswith(services)]
    own = {m for found in actions for m in found if m.startswith(tuple(f"penstock.{s}" for s in services))}
    assert own
    assert own <= modules["gateway"]


@pytest.mark.parametrize("name", ["collect", "maintain", "sqs.send_message", "sns.publish", "gateway"])
def test_a_function_with_pg8000_has_no_psycopg(name: str) -> None:
    top = {module.partition(".")[0] for module in imported(name, "pg8000")}
    assert "pg8000" in top
    assert not {"psycopg", "psycopg_binary"} & top


def test_publish_needs_no_platform_applications(modules: dict[str, set[str]]) -> None:
    for name in ("publish", "publish_batch"):
        (found,) = (of for function, of in modules.items() if function.rpartition(".")[2] == name)
        assert not any(module.startswith("penstock.sns.mobile") for module in found)
