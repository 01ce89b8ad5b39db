"""Runs the SDKs for JavaScript, which check MD5 digests themselves, and their most used consumers.

docs/guides/recipes.md has the settings.
"""

from __future__ import annotations

import os
from typing import Any

import pytest

from tests.support.clients.service_client import Deployment, counts, sqs_client
from tests.support.clients.toolchains import run_node_script

_LONG = "AWS.SimpleQueueService."
# The client made this error. The value is the class of the error in version 3, and its code in version 2.
ERRORS = {
    "unknownQueue": ("QueueDoesNotExist", f"{_LONG}NonExistentQueue"),
    "deletedQueue": ("QueueDoesNotExist", f"{_LONG}NonExistentQueue"),
    "deletedRecently": ("QueueDeletedRecently", f"{_LONG}QueueDeletedRecently"),
    "otherAttributes": ("QueueNameExists", "QueueAlreadyExists"),
    "attributeName": ("InvalidAttributeName", "InvalidAttributeName"),
    "attributeValue": ("InvalidAttributeValue", "InvalidAttributeValue"),
    "receiptHandle": ("ReceiptHandleIsInvalid", "ReceiptHandleIsInvalid"),
    "characters": ("InvalidMessageContents", "InvalidMessageContents"),
    "purgedAgain": ("PurgeQueueInProgress", f"{_LONG}PurgeQueueInProgress"),
    "emptyBatch": ("EmptyBatchRequest", f"{_LONG}EmptyBatchRequest"),
    "elevenEntries": ("TooManyEntriesInBatchRequest", f"{_LONG}TooManyEntriesInBatchRequest"),
    "equalIds": ("BatchEntryIdsNotDistinct", f"{_LONG}BatchEntryIdsNotDistinct"),
    "idCharacters": ("InvalidBatchEntryId", f"{_LONG}InvalidBatchEntryId"),
    "longBatch": ("BatchRequestTooLong", f"{_LONG}BatchRequestTooLong"),
    "taskSource": ("ResourceNotFoundException", "ResourceNotFoundException"),
}
CLASSES = {what: of_version_3 for what, (of_version_3, _) in ERRORS.items()}
CODES = {what: of_version_2 for what, (_, of_version_2) in ERRORS.items()}
# The older model names fewer errors.
CLASSES_OF_QUERY = CLASSES | {
    "deletedQueue": f"without a class: {_LONG}NonExistentQueue",
    "attributeValue": "without a class: InvalidAttributeValue",
}
SCENARIO = {
    "checksDigests": True,
    "standard": {
        "awaited": ["awaited"],
        "stored": ["rich", "plain"],
        "refused": [["late", "InvalidParameterValue", True]],
        "sent": [2, 1],
        "body": "grüße, 世界 <&>\r\n",
        "attributes": ["String.of mine", "tëxt", "-1.50", [0, 128, 255]],
        "trace": "Root=1-5759e988-bd862e3fe1be46a994272793",
        "again": ["plain", "2"],
        "deleted": ["rich", "again"],
        "kept": [["wrong", "ReceiptHandleIsInvalid", True]],
        "end": [0, 0],
    },
    "fifo": {
        "rising": True,
        "duplicate": [True, True],
        "a": ["a1", "a2"],
        "b": ["b1"],
        "blocked": [],
        "again": ["a1", "a2", "a3"],
    },
    "deadLetters": {"twice": [], "sameId": True, "from": "source", "sources": [True]},
    "queues": {
        "tags": {"kept": "as it is", "changed": "new", "empty": ""},
        "pages": [2, 1],
        "complete": True,
        "attributes": {"DelaySeconds": "7"},
    },
}


@pytest.mark.clients
@pytest.mark.parametrize(
    ("package", "errors"),
    [
        pytest.param("@aws-sdk/client-sqs", CLASSES, id="version 3"),
        pytest.param("client-sqs-query", CLASSES_OF_QUERY, id="version 3 of the Query protocol"),
        pytest.param("aws-sdk", CODES, id="version 2"),
        pytest.param("aws-sdk-query", CODES, id="version 2 of the Query protocol"),
    ],
)
def test_sdk(up: Deployment, package: str, errors: dict[str, str]) -> None:
    found = run_node_script("sdk.cjs", package, up.address)
    refused: dict[str, Any] = {"countsWhenPurged": [0, 0], **errors}
    if os.environ.get("PENSTOCK_DEPLOYMENT") == "lambda":
        # The load balancer refuses bodies of more than 1 MB by itself (AWS: "Use Lambda functions as targets of an
        # Application Load Balancer"). Each SDK has a different name for the load balancer's 413.
        assert found["errors"].pop("longBatch") != refused.pop("longBatch")
    assert found == {**SCENARIO, "errors": refused}


@pytest.mark.clients
def test_sqs_consumer(up: Deployment) -> None:
    assert run_node_script("consumer.cjs", up.address) == {
        "standard": {
            "failed": 0,
            "sent": [3, 0],
            "received": [["grüße", "1"], ["three", "1"], ["two", "2"]],
            "text": "tëxt",
            "bytes": [0, 255],
            "left": [0, 0],
            "direct": ["direct", "2"],
            "end": [0, 0],
            "error": "QueueDoesNotExist",
        },
        "fifo": {"sent": [3, 0], "duplicate": True, "received": ["1", "2", "3"], "left": [0, 0]},
    }


@pytest.mark.clients
def test_nestjs_sqs(up: Deployment) -> None:
    """Tests handlers of messages and of batches, one that fails once, and producers with attributes, a delay and
    groups."""
    assert run_node_script("nest.cjs", up.address) == {
        "standard": [["fails once", "1", None], ["fails once", "2", None], ["grüße", "1", "nest"], ["late", "1", None]],
        "fifo": [["a1", "a"], ["a2", "a"]],
        "failures": ["Unexpected message handler failure: the first attempt fails"],
        "size": 0,
    }
    assert counts(up, "nest") == counts(up, "nest.fifo") == ["0", "0", "0"]


@pytest.mark.clients
def test_squiss(up: Deployment) -> None:
    """A released message comes again. 12 messages go in two batches. Also tests deletes in batches and groups of a FIFO
    queue."""
    with sqs_client(up) as sqs:
        sqs.create_queue(QueueName="squiss.fifo", Attributes={"FifoQueue": "true"})
    alone = ["squiss", 7]
    assert run_node_script("squiss.cjs", up.address) == {
        "standard": {
            "sent": [12, 0],
            "batched": 12,
            "alone": [["grüße", "1", *alone], ["grüße", "2", *alone]],
            "bytes": 262144,
        },
        "fifo": [["a1", "a"], ["a2", "a"]],
    }
    assert counts(up, "squiss") == ["0", "0", "1"]
    assert counts(up, "squiss.fifo") == ["0", "0", "0"]
