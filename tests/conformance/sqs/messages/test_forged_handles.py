"""Forged receipt handles, sent to the service: every one is refused as such, and the messages stay in flight."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
from typing import Any

import pytest

from tests.support.conformance.sqs import Sqs
from tests.support.forged_receipt_handles import forgeries

FORGERIES = 1_000  # of each deployment, protocol and type of queue


def batches(tried: Iterator[str]) -> Iterator[list[dict[str, Any]]]:
    """Entries in tens."""
    while ten := list(islice(tried, 10)):
        yield [{"Id": str(number), "ReceiptHandle": handle} for number, handle in enumerate(ten)]


def received(sqs: Sqs, url: str, number: int) -> list[str]:
    """Handles of so many messages that are in flight."""
    fifo = url.endswith(".fifo")
    for sent in range(number):
        more = {"MessageGroupId": str(sent), "MessageDeduplicationId": str(sent)} if fifo else {}
        sqs.send(url, **more)
    return [message["ReceiptHandle"] for message in sqs.receive(url, number)]


def codes(answer: dict[str, Any]) -> set[tuple[str, bool]]:
    assert answer.get("Successful", []) == []
    assert [failure["Id"] for failure in answer["Failed"]] == [str(n) for n in range(len(answer["Failed"]))]
    return {(failure["Code"], failure["SenderFault"]) for failure in answer["Failed"]}


@pytest.mark.parametrize("suffix", ["", ".fifo"])
def test_none_deletes_or_hides_a_message(sqs: Sqs, suffix: str) -> None:
    """Codes of the API reference: ReceiptHandleIsInvalid, of the sender, for each entry."""
    create = sqs.create_fifo if suffix else sqs.create
    url, other = create(), create()
    mine, foreign = received(sqs, url, 20), received(sqs, other, 10)
    tried = forgeries(3, FORGERIES, mine, foreign)
    for number, entries in enumerate(batches(tried)):
        if number % 2:
            answer = sqs.client.delete_message_batch(QueueUrl=url, Entries=entries)
        else:
            hidden = [{**entry, "VisibilityTimeout": 0} for entry in entries]
            answer = sqs.client.change_message_visibility_batch(QueueUrl=url, Entries=hidden)
        assert codes(answer) == {("ReceiptHandleIsInvalid", True)}
    assert (sqs.counts(url), sqs.counts(other)) == ((0, 20, 0), (0, 10, 0))


def test_one_by_one(sqs: Sqs) -> None:
    url, other = sqs.create(), sqs.create()
    mine, foreign = received(sqs, url, 3), received(sqs, other, 3)
    for forged in forgeries(4, 100, mine, foreign):
        assert sqs.code("delete_message", QueueUrl=url, ReceiptHandle=forged) == "ReceiptHandleIsInvalid"
    assert sqs.counts(url) == (0, 3, 0)
