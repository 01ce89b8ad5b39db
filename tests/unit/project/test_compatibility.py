"""docs/compatibility.md lists the actions that there are, and those of AWS that there are not.

The versions that it gives clients are those of the files that `make clients` installs from.
"""

from __future__ import annotations

import json
import re
from pathlib import Path

import botocore.session
import pytest

from penstock.actions import ACTIONS
from penstock.settings import SETTINGS

ROOT = Path(__file__).parents[3]
PAGE = ROOT / "docs/compatibility.md"
CLIENTS = ROOT / "tests/support/clients"
ROWS = dict(re.findall(r"^\| ([^|]+) \| ([^|]+) \| [^|]* \| [^|]+ \|$", PAGE.read_text(), re.MULTILINE))


def listed(answer: str) -> list[str]:
    return re.findall(rf"^\| `(\w+)` \| {answer} \| {answer} \|$", PAGE.read_text(), re.MULTILINE)


def test_the_actions_in_the_order_of_the_table() -> None:
    assert listed("yes") == [action.name for action in ACTIONS if action.service == "sqs"]


def test_the_actions_that_are_missing() -> None:
    model = botocore.session.get_session().get_service_model("sqs")
    there = {action.name for action in ACTIONS if action.service == "sqs"}
    assert listed("no") == sorted(set(model.operation_names) - there)


def test_its_settings_exist() -> None:
    names = set(re.findall(r"`(QUEUE_[A-Z_]+)`", PAGE.read_text()))
    assert names
    assert names <= {setting.name for setting in SETTINGS}


def python(lock: str, name: str) -> str:
    found = re.findall(rf"^{name}==(\S+)", (ROOT / f"requirements/{lock}.lock").read_text(), re.MULTILINE)
    return str(found[0])


def node(name: str) -> str:
    packages = json.loads((CLIENTS / "node/package-lock.json").read_text())["packages"]
    return str(packages[f"node_modules/{name}"]["version"])


def jar(program: str, name: str) -> str:
    text = (CLIENTS / "java" / program / "jars.sha256").read_text()
    return str(re.findall(rf" {name}-([\d.]+)\.jar$", text, re.MULTILINE)[0])


def crate(name: str) -> str:
    text = (CLIENTS / "rust/crates.lock").read_text()
    return str(re.findall(rf'^name = "{name}"\nversion = "(.+)"$', text, re.MULTILINE)[0])


def module(name: str) -> str:
    return str(re.findall(rf"{name} v(\S+)$", (CLIENTS / "keda/scaler.mod").read_text(), re.MULTILINE)[0])


INSTALLED = {
    "nestjs-sqs (`@ssut/nestjs-sqs`)": [node("@ssut/nestjs-sqs")],
    "squiss-ts": [node("squiss-ts")],
    "SDK for Java 2, `SqsClient`, `SqsAsyncClient`": [jar("sdk", "sqs")],
    "SDK for Java 2, `SqsAsyncBatchManager`": [jar("sdk", "sqs")],
    "amazon-sqs-java-messaging-lib (JMS)": [jar("jms", "amazon-sqs-java-messaging-lib")],
    "Spring Cloud AWS": [jar("spring", "spring-cloud-aws-sqs"), jar("spring", "spring-boot")],
    "Camel `aws2-sqs`, `aws2-sns`": [jar("camel", "camel-aws2-sqs")],
    "Java's `aws-lambda-java-events`": [jar("events", "aws-lambda-java-events")],
    "SDK for Rust, `aws-sdk-sqs`, `aws-sdk-sns`": [crate("aws-sdk-sqs"), crate("aws-sdk-sns")],
    "KEDA, the SQS scaler": [module("github.com/kedacore/keda/v2")],
    "kombu (`sqs://`)": [python("dev", "kombu")],
    "loafer-ng": [python("clients-frameworks", "loafer-ng")],
    "taskiq-aio-sqs": [python("clients-frameworks", "taskiq-aio-sqs")],
    "django-eb-sqs": [python("clients-frameworks", "django-eb-sqs")],
    "sqs-extended-client (Python)": [python("clients-frameworks", "sqs-extended-client")],
}


@pytest.mark.parametrize("client", INSTALLED)
def test_the_version_of_a_row(client: str) -> None:
    shown = re.findall(r"[\d.]+", ROWS[client])
    assert [
        f"{version}.".startswith(f"{short}.") for short, version in zip(shown, INSTALLED[client], strict=True)
    ] == [True for _ in shown]
