"""Calls the scaler of KEDA for SQS (tests/support/clients/keda, built by `make clients`) as its operator does.

The source is KEDA's page "AWS SQS Queue". The length is ApproximateNumberOfMessages. The count includes messages in
flight by default, and delayed ones on demand. The scaler scales from zero when the length is above
activationQueueLength.

docs/guides/recipes.md has the settings.
"""

from __future__ import annotations

import pytest

from tests.support.clients.sdk_scenario import printed
from tests.support.clients.service_client import ROOT, Deployment, sqs_client

PROGRAM = ROOT / ".tools/clients/keda/scaler"


def seen(length: int, *, active: bool = True) -> dict[str, object]:
    return {"Length": length, "Active": active, "Target": 2}


@pytest.mark.clients
def test_scaler(up: Deployment) -> None:
    assert PROGRAM.exists(), f"{PROGRAM} is missing: run `make clients`"
    with sqs_client(up) as sqs:
        url = sqs.create_queue(QueueName="keda", Attributes={"VisibilityTimeout": "600"})["QueueUrl"]
        entries = [{"Id": str(n), "MessageBody": "m", "DelaySeconds": 900 if n < 3 else 0} for n in range(9)]
        assert "Failed" not in sqs.send_message_batch(QueueUrl=url, Entries=entries)
        received = sqs.receive_message(QueueUrl=url, MaxNumberOfMessages=2, WaitTimeSeconds=20)["Messages"]
    flying = len(received)
    assert printed([str(PROGRAM), up.address, "us-east-1", url]) == {
        "default": seen(6),
        "not flying": seen(6 - flying),
        "delayed too": seen(9),
        "activation": seen(6, active=False),
    }
