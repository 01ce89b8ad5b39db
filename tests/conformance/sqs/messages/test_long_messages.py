"""Messages of up to 1 MiB, and receives of several. ReceiveMessage: "fewer messages might be returned".

SendMessage: "The minimum size is one character. The maximum size is 1 MiB". A message that no answer carried was not
received: its ApproximateReceiveCount is "the number of times a message has been received across all queues but not
deleted".
"""

from __future__ import annotations

import json

import pytest

from tests.support.conformance.sqs import Sqs

MIB = 1_048_576
LONGEST_ANSWER = 6 * MIB  # what SDKs and proxies have to hold; functions may answer no more ("Lambda quotas")


@pytest.mark.parametrize(
    "fifo", [False, pytest.param(True, marks=pytest.mark.slow)], ids=["standard", "fifo"]
)
def test_ten_long_messages_are_all_received_once(sqs: Sqs, fifo: bool) -> None:
    create = sqs.create_fifo if fifo else sqs.create
    dead = create()
    policy = json.dumps({"deadLetterTargetArn": sqs.arn(dead), "maxReceiveCount": "1"})
    url = create(RedrivePolicy=policy)
    for number in range(10):
        ids = {"MessageGroupId": str(number), "MessageDeduplicationId": str(number)} if fifo else {}
        sqs.send(url, str(number) * 700_000, **ids)
    found = []
    while messages := sqs.poll(url, AttributeNames=["ApproximateReceiveCount"]):
        assert sum(len(message["Body"]) for message in messages) < LONGEST_ANSWER
        found += [
            (message["Body"][0], message["Attributes"]["ApproximateReceiveCount"]) for message in messages
        ]
    assert sorted(found) == [(str(number), "1") for number in range(10)]
    assert (sqs.counts(url), sqs.counts(dead)) == ((0, 10, 0), (0, 0, 0))


@pytest.mark.parametrize("character", ["漢", "\n"], ids=["three bytes", "escaped"])
def test_a_mib_goes_in_and_out(sqs: Sqs, character: str) -> None:
    url = sqs.create()
    body = character * (MIB // len(character.encode()))
    sqs.send(url, body)
    (message,) = sqs.poll(url)
    assert message["Body"] == body
