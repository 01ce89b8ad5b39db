"""Event source mappings with Terraform: made, read back, changed, imported, destroyed."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest

from tests.support.clients.service_client import Deployment, client
from tests.support.clients.terraform_cli import ACCOUNT, CHANGES, NO_CHANGES, Terraform, applied
from tests.support.programs.penstock_up import running

pytestmark = pytest.mark.clients

FUNCTION = f"arn:aws:lambda:us-east-1:{ACCOUNT}:function"


@pytest.fixture(scope="module")
def up() -> Iterator[Deployment]:
    """A container, which alone polls; nothing answers where its functions are."""
    with running("--ephemeral", QUEUE_LAMBDA_ENDPOINT="http://127.0.0.1:1") as up:
        yield up


@pytest.fixture(scope="module")
def functions(up: Deployment) -> Iterator[Any]:
    with client("lambda", up, ACCOUNT) as functions:
        yield functions


@pytest.fixture(scope="module")
def made(up: Deployment, tmp_path_factory: pytest.TempPathFactory) -> Terraform:
    """Everything that mappings.tf says is there."""
    return applied(up, tmp_path_factory.mktemp("mappings"), "mappings.tf")


def mapping(functions: Any, function: str) -> dict[str, Any]:
    (found,) = functions.list_event_source_mappings(FunctionName=function)["EventSourceMappings"]
    patterns = [json.loads(each["Pattern"]) for each in found.get("FilterCriteria", {}).get("Filters", ())]
    tags: dict[str, str] = functions.list_tags(Resource=found["EventSourceMappingArn"])["Tags"]
    return {**found, "patterns": patterns, "tags": tags}


def test_what_is_made_reads_back_as_configured(made: Terraform, functions: Any) -> None:
    assert made.plan() == NO_CHANGES
    found = mapping(functions, "handler")
    assert (found["State"], found["BatchSize"], found["MaximumBatchingWindowInSeconds"]) == (
        "Disabled",
        100,
        20,
    )
    assert found["FunctionResponseTypes"] == ["ReportBatchItemFailures"]
    assert found["ScalingConfig"] == {"MaximumConcurrency": 2}
    assert found["patterns"] == [
        {"body": {"kind": ["order", {"prefix": "re"}]}},
        {"body": {"total": [{"numeric": [">", 100]}]}},
    ]
    assert found["tags"] == {"kept": "first", "gone": "grüße", "owner": "terraform"}
    assert mapping(functions, "minimal")["State"] == "Enabled"


def test_what_is_changed_reads_back_as_configured(changed: Terraform, functions: Any) -> None:
    assert changed.plan(changed=True) == NO_CHANGES
    assert changed.plan() == CHANGES  # so an empty plan says something
    found = mapping(functions, f"{FUNCTION}:other:live")
    assert (found["State"], found["BatchSize"], found["MaximumBatchingWindowInSeconds"]) == ("Enabled", 5, 0)
    assert (found["FunctionResponseTypes"], found["ScalingConfig"]) == ([], {"MaximumConcurrency": 1000})
    assert found["patterns"] == [{"body": {"kind": ["order"]}}]
    assert found["tags"] == {"kept": "changed", "new": "1", "owner": "terraform"}


def test_what_is_imported_is_as_configured(changed: Terraform) -> None:
    ids = json.loads(changed.run("output", "-json", changed=True).stdout)["ids"]["value"]
    said = changed.import_again(
        {f"aws_lambda_event_source_mapping.{name}": uuid for name, uuid in ids.items()}, changed=True
    )
    assert "Resources: 2 imported, 0 added, 0 changed, 0 destroyed." in said
    assert changed.plan(changed=True) == NO_CHANGES


def test_nothing_is_left_when_all_is_destroyed(changed: Terraform, functions: Any) -> None:
    changed.run("destroy", "-auto-approve", "-parallelism=30", changed=True)
    assert functions.list_event_source_mappings()["EventSourceMappings"] == []
