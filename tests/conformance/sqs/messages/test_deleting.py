"""Tests of DeleteMessage. Source: its API reference
(https://docs.aws.amazon.com/AWSSimpleQueueService/latest/APIReference/API_DeleteMessage.html).

The service refuses every forged receipt handle, and the messages stay in flight.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
from typing import Any

import pytest

from tests.support.conformance.sqs import Sqs
from tests.support.forged_receipt_handles import forgeries


def test_a_deleted_message_does_not_come_back(sqs: Sqs) -> None:
    url = sqs.create()
    sqs.send_all(url, "a", "b")
    first, _ = sqs.receive(url, 2)
    sqs.delete(url, first)
    sqs.clock.advance(31)
    (left,) = sqs.receive(url, 1)
    assert {first["Body"], left["Body"]} == {"a", "b"}
    assert sqs.poll(url) == []


def test_deleting_twice(sqs: Sqs) -> None:
    """DeleteMessage is idempotent, so the second call succeeds too."""
    url = sqs.create()
    sqs.send(url)
    message = sqs.receive_one(url)
    sqs.delete(url, message)
    sqs.delete(url, message)
    assert sqs.counts(url) == (0, 0, 0)


def test_deleting_after_the_timeout(sqs: Sqs) -> None:
    """Deleting with an expired handle still succeeds, and the message does not come again."""
    url = sqs.create()
    sqs.send(url)
    message = sqs.receive_one(url)
    sqs.clock.advance(31)
    sqs.delete(url, message)
    assert (sqs.poll(url), sqs.counts(url)) == ([], (0, 0, 0))


def test_an_old_handle_after_a_new_receive(sqs: Sqs) -> None:
    """The old handle still deletes the message (recorded at AWS). The API reference promises only that "the request
    succeeds".

    The new handle succeeds too.
    """
    url = sqs.create()
    sqs.send(url)
    old = sqs.receive_one(url, VisibilityTimeout=0)
    new = sqs.receive_one(url)
    sqs.delete(url, old)
    assert sqs.counts(url) == (0, 0, 0)
    sqs.delete(url, new)
    sqs.clock.advance(31)
    assert (sqs.poll(url), sqs.counts(url)) == ([], (0, 0, 0))


def test_a_handle_of_another_queue(sqs: Sqs) -> None:
    """The error is ReceiptHandleIsInvalid (AWS SDK for Java v2, issue 3101), and both messages stay."""
    url, other = sqs.create(), sqs.create()
    sqs.send(url)
    sqs.send(other)
    handle = sqs.receive_one(other)["ReceiptHandle"]
    assert sqs.code("delete_message", QueueUrl=url, ReceiptHandle=handle) == "ReceiptHandleIsInvalid"
    assert (sqs.counts(url), sqs.counts(other)) == ((1, 0, 0), (0, 1, 0))


def test_a_handle_in_another_region_or_account(sqs: Sqs) -> None:
    """The same name in another region or account is a different queue."""
    name = sqs.name()
    here = sqs.client.create_queue(QueueName=name)["QueueUrl"]
    sqs.send(here)
    handle = sqs.receive_one(here)["ReceiptHandle"]
    for other in (sqs.caller(region="eu-west-1"), sqs.caller(account="111122223333")):
        url = other.client.create_queue(QueueName=name)["QueueUrl"]
        assert other.code("delete_message", QueueUrl=url, ReceiptHandle=handle) == "ReceiptHandleIsInvalid"
    assert sqs.counts(here) == (0, 1, 0)


def variants(handle: str) -> dict[str, str]:
    """Yields a valid handle with every kind of damage."""
    middle = len(handle) // 2
    flipped = "B" if handle[middle] == "A" else "A"
    return {
        "truncated": handle[:-1],
        "longer": f"{handle}A",
        "changed": handle[:middle] + flipped + handle[middle + 1 :],
        "first": ("B" if handle[0] == "A" else "A") + handle[1:],
        "last": handle[:-1] + ("B" if handle[-1] == "A" else "A"),
        "space": f" {handle}",
        "newline": f"{handle}\n",
        "case": handle.swapcase(),
        "zero": "A" * len(handle),
        "unicode": "ä" * len(handle),
        "nul": "\x00",
        "sql": "' or true --",
        "long": "A" * 100_000,
        "word": "x",
    }


@pytest.mark.parametrize("kind", sorted(variants("A" * 88)))
def test_forged_handles(sqs: Sqs, kind: str) -> None:
    """The error is ReceiptHandleIsInvalid: "The specified receipt handle isn't valid". The message stays."""
    url = sqs.create()
    sqs.send(url)
    handle = variants(sqs.receive_one(url)["ReceiptHandle"])[kind]
    assert sqs.code("delete_message", QueueUrl=url, ReceiptHandle=handle) == "ReceiptHandleIsInvalid"
    code = sqs.code("change_message_visibility", QueueUrl=url, ReceiptHandle=handle, VisibilityTimeout=0)
    assert (code, sqs.counts(url)) == ("ReceiptHandleIsInvalid", (0, 1, 0))


FORGERIES = 1_000  # for each deployment, protocol and type of queue


def batches(tried: Iterator[str]) -> Iterator[list[dict[str, Any]]]:
    """Yields batches of ten entries."""
    while ten := list(islice(tried, 10)):
        yield [{"Id": str(number), "ReceiptHandle": handle} for number, handle in enumerate(ten)]


def received(sqs: Sqs, url: str, number: int) -> list[str]:
    """Receives `number` messages and returns their handles."""
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
def test_an_invalid_handle_deletes_and_hides_no_message(sqs: Sqs, suffix: str) -> None:
    """The API reference defines the code ReceiptHandleIsInvalid; each entry fails with a sender's fault."""
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
