"""Tests of ChangeMessageVisibility. The sources are ChangeMessageVisibility (API reference) and "Amazon SQS visibility
timeout" (Developer Guide).

Some tests lower the limit on messages in flight. The sources are the Developer Guide, "standard queue quotas" and "FIFO
queue quotas".
"""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from itertools import islice
from typing import Any

import pytest

from tests.support.conformance.sqs import Sqs
from tests.support.forged_receipt_handles import forgeries

HALF_A_DAY = 43_200


def test_a_timeout_of_zero_makes_a_message_visible_at_once(sqs: Sqs) -> None:
    url = sqs.create()
    sent = sqs.send(url)
    sqs.hide(url, sqs.receive_one(url), 0)
    assert sqs.counts(url) == (1, 0, 0)
    again = sqs.receive_one(url, AttributeNames=["ApproximateReceiveCount"])
    assert (again["MessageId"], again["Attributes"]["ApproximateReceiveCount"]) == (sent["MessageId"], "2")


def test_a_longer_timeout_replaces_the_previous_timeout(sqs: Sqs) -> None:
    """The new timeout starts with the call and replaces the previous timeout."""
    url = sqs.create(VisibilityTimeout="30")
    sqs.send(url)
    message = sqs.receive_one(url)
    sqs.clock.advance(20)
    sqs.hide(url, message, 100)
    sqs.clock.advance(70)
    assert sqs.poll(url) == []
    sqs.clock.advance(30)
    assert len(sqs.receive(url, 1)) == 1


def test_a_shorter_timeout_replaces_the_previous_timeout(sqs: Sqs) -> None:
    url = sqs.create(VisibilityTimeout="600")
    sqs.send(url)
    sqs.hide(url, sqs.receive_one(url), 10)
    sqs.clock.advance(10)
    assert len(sqs.receive(url, 1)) == 1


def test_a_handle_deletes_its_message_after_changes_of_the_timeout(sqs: Sqs) -> None:
    """The handle of the last receive deletes the message, regardless of how often the visibility timeout changed."""
    url = sqs.create()
    sqs.send(url)
    message = sqs.receive_one(url)
    for seconds in (600, 10, 0, 300):
        sqs.hide(url, message, seconds)
    sqs.delete(url, message)
    sqs.clock.advance(600)
    assert (sqs.poll(url), sqs.counts(url)) == ([], (0, 0, 0))


def test_a_change_affects_only_the_message_of_the_handle(sqs: Sqs) -> None:
    """Each message of a receive has a separate visibility timeout."""
    url = sqs.create()
    sqs.send_all(url, "a", "b", "c")
    first, _, _ = sqs.receive(url, 3)
    sqs.hide(url, first, 0)
    assert sqs.counts(url) == (1, 2, 0)
    assert sqs.receive_one(url)["Body"] == first["Body"]


def test_a_change_after_the_timeout_hides_the_message_again(sqs: Sqs) -> None:
    """On a standard queue, ChangeMessageVisibility after the end of the visibility timeout returns 200 and takes
    effect."""
    url = sqs.create()
    sqs.send(url)
    message = sqs.receive_one(url)
    sqs.clock.advance(31)
    sqs.hide(url, message, 60)
    assert sqs.poll(url) == []


def test_an_old_handle_changes_the_timeout_of_a_newer_receive(sqs: Sqs) -> None:
    """The old handle changes the timeout of the newer receive (recorded at AWS)."""
    url = sqs.create()
    sqs.send(url)
    old = sqs.receive_one(url, VisibilityTimeout=0)
    new = sqs.receive_one(url)
    sqs.hide(url, old, 0)
    assert sqs.receive_one(url)["MessageId"] == new["MessageId"]


def test_a_change_after_the_deletion_is_refused(sqs: Sqs) -> None:
    """The error is InvalidParameterValue, "Message does not exist or is not available for visibility timeout change"
    (recorded response: mapbox/ecs-watchbot issue 135).
    """
    url = sqs.create()
    sqs.send(url)
    message = sqs.receive_one(url)
    sqs.delete(url, message)
    refusal = sqs.refusal(
        "change_message_visibility", QueueUrl=url, ReceiptHandle=message["ReceiptHandle"], VisibilityTimeout=60
    )
    assert refusal.code == "InvalidParameterValue"
    assert refusal.message.endswith("Message does not exist or is not available for visibility timeout change.")


@pytest.mark.parametrize("cleaned", [False, True])
@pytest.mark.parametrize("state", ["leased", "hidden", "received again", "fifo", "fifo, visible again"])
def test_a_change_after_the_retention_is_refused(sqs: Sqs, state: str, cleaned: bool) -> None:
    """The message does not exist any longer, whether or not a worker has cleaned the queue. DeleteMessage succeeds for
    a message that no longer exists.
    """
    more = {"VisibilityTimeout": "600", "MessageRetentionPeriod": "60"}
    fifo = state.startswith("fifo")
    url = sqs.create_fifo(**more) if fifo else sqs.create(**more)
    sqs.send(url, **({"MessageGroupId": "g", "MessageDeduplicationId": "1"} if fifo else {}))
    timeout = {"received again": 0, "fifo, visible again": 30}.get(state, 600)
    message = sqs.receive_one(url, VisibilityTimeout=timeout)
    if state == "received again":
        sqs.receive_one(url)
    elif state == "hidden":
        sqs.hide(url, message, 900)
    sqs.clock.advance(61)
    if cleaned:
        sqs.until_cleaned(url)
        sqs.clock.maintain(sqs.arn(url))
    handle = message["ReceiptHandle"]
    refusal = sqs.refusal("change_message_visibility", QueueUrl=url, ReceiptHandle=handle, VisibilityTimeout=0)
    assert refusal.message.endswith("Message does not exist or is not available for visibility timeout change.")
    sqs.delete(url, message)
    assert sqs.poll(url) == []


@pytest.mark.parametrize("seconds", [-1, HALF_A_DAY + 1, 2**31])
def test_out_of_range(sqs: Sqs, seconds: int) -> None:
    """VisibilityTimeout ranges from 0 to 43,200."""
    url = sqs.create()
    sqs.send(url)
    handle = sqs.receive_one(url)["ReceiptHandle"]
    code = sqs.code("change_message_visibility", QueueUrl=url, ReceiptHandle=handle, VisibilityTimeout=seconds)
    assert (code, sqs.counts(url)) == ("InvalidParameterValue", (0, 1, 0))


@pytest.mark.parametrize("fifo", [False, True], ids=["standard", "fifo"])
def test_not_beyond_twelve_hours_in_total(sqs: Sqs, fifo: bool) -> None:
    """Developer Guide: "The maximum visibility timeout is 12 hours from the first receipt". A longer timeout does not
    restart the 12 hours.
    """
    group = {"MessageGroupId": "g", "MessageDeduplicationId": "d"} if fifo else {}
    url = sqs.create_fifo() if fifo else sqs.create()
    sqs.send(url, **group)
    message = sqs.receive_one(url, VisibilityTimeout=HALF_A_DAY)
    sqs.clock.advance(HALF_A_DAY - 1000)
    sqs.hide(url, message, 900)
    refusal = sqs.refusal(
        "change_message_visibility", QueueUrl=url, ReceiptHandle=message["ReceiptHandle"], VisibilityTimeout=1_100
    )
    assert refusal.code == "InvalidParameterValue"
    sqs.clock.advance(840)
    assert sqs.poll(url) == []
    sqs.clock.advance(60)
    assert sqs.receive_one(url)["MessageId"] == message["MessageId"]


LIMITED = {"QUEUE_IN_FLIGHT_LIMIT": "3"}
# The text was recorded at AWS (pressureNET-server, issue 74).
TEXT = (
    "Too many messages have been received without being deleted. "
    "Please delete your received messages or let them timeout before receiving more."
)


@pytest.fixture
def limited(sqs: Sqs) -> Sqs:
    """Returns a deployment whose queues allow at most three messages in flight."""
    return sqs.with_settings(LIMITED)


def full(sqs: Sqs, group: str | None = None) -> tuple[str, list[dict[str, str]]]:
    """Creates a queue with the maximum number of messages in flight and one visible message."""
    url = sqs.create_fifo(ContentBasedDeduplication="true") if group else sqs.create()
    for number in range(4):
        sqs.send(url, str(number), **({"MessageGroupId": f"{group}{number}"} if group else {}))
    return url, sqs.receive(url, 3)


def test_a_short_poll_is_refused(limited: Sqs) -> None:
    """OverLimit has the status 403: "if you reach this quota while using short polling"."""
    url, _ = full(limited)
    refusal = limited.refusal("receive_message", QueueUrl=url)
    assert (refusal.code, refusal.status, refusal.fault) == ("OverLimit", 403, "Sender")
    assert refusal.message == TEXT
    assert limited.counts(url) == (1, 3, 0)


def test_a_long_poll_gets_nothing(limited: Sqs) -> None:
    """ "If you use long polling, Amazon SQS returns no error messages". Either the request or the queue sets the wait
    time of the long poll.
    """
    (url, _), (waiting, _) = full(limited), full(limited)
    limited.client.set_queue_attributes(QueueUrl=waiting, Attributes={"ReceiveMessageWaitTimeSeconds": "1"})
    with ThreadPoolExecutor() as threads:
        by_request = threads.submit(limited.poll, url, WaitTimeSeconds=1)
        assert (limited.poll(waiting), by_request.result()) == ([], [])
    assert limited.code("receive_message", QueueUrl=waiting, WaitTimeSeconds=0) == "OverLimit"


@pytest.mark.parametrize("more", [{}, {"WaitTimeSeconds": 1}, {"ReceiveRequestAttemptId": "a"}])
def test_a_fifo_queue_gives_no_error(limited: Sqs, more: dict[str, Any]) -> None:
    """ "If this limit is reached, Amazon SQS does not return an error": the response is empty."""
    url, _ = full(limited, "g")
    assert limited.poll(url, **more) == []
    assert limited.counts(url) == (1, 3, 0)


@pytest.mark.parametrize("group", [None, "g"], ids=["standard", "fifo"])
def test_a_deleted_message_makes_room(limited: Sqs, group: str | None) -> None:
    url, (first, *_) = full(limited, group)
    limited.delete(url, first)
    assert len(limited.receive(url, 1)) == 1
    assert limited.counts(url) == (0, 3, 0)


@pytest.mark.parametrize("group", [None, "g"], ids=["standard", "fifo"])
def test_a_long_poll_ends_when_there_is_room(limited: Sqs, group: str | None) -> None:
    """The waiting poll reads the queue again and returns the remaining message."""
    url, received = full(limited, group)
    (left,) = {"0", "1", "2", "3"} - {message["Body"] for message in received}
    sign = "queue.receive_(messages|answer)"
    messages = limited.while_waiting(url, lambda: limited.delete(url, received[0]), sign=sign, WaitTimeSeconds=20)
    assert [message["Body"] for message in messages] == [left]


def test_a_timeout_makes_room(limited: Sqs) -> None:
    url, _ = full(limited)
    limited.clock.advance(31)
    assert len(limited.receive(url, 3)) == 3


def test_no_limit(sqs: Sqs) -> None:
    """The value 0 removes the limit (Penstock's choice)."""
    unlimited = sqs.with_settings({"QUEUE_IN_FLIGHT_LIMIT": "0"})
    url, _ = full(unlimited)
    assert len(unlimited.receive(url, 1)) == 1


# --- deleting --------------------------------------------------------------------------------------------------------
# Tests of DeleteMessage. Source: its API reference
# (https://docs.aws.amazon.com/AWSSimpleQueueService/latest/APIReference/API_DeleteMessage.html).
#
# The service refuses every forged receipt handle, and the messages stay in flight.


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
    """DeleteMessage is idempotent, so the second call also succeeds."""
    url = sqs.create()
    sqs.send(url)
    message = sqs.receive_one(url)
    sqs.delete(url, message)
    sqs.delete(url, message)
    assert sqs.counts(url) == (0, 0, 0)


def test_deleting_after_the_timeout(sqs: Sqs) -> None:
    """A delete with an expired handle still succeeds, and the service does not deliver the message again."""
    url = sqs.create()
    sqs.send(url)
    message = sqs.receive_one(url)
    sqs.clock.advance(31)
    sqs.delete(url, message)
    assert (sqs.poll(url), sqs.counts(url)) == ([], (0, 0, 0))


def test_an_old_handle_deletes_after_a_new_receive(sqs: Sqs) -> None:
    """The old handle still deletes the message (recorded at AWS). The API reference promises only that "the request
    succeeds".

    The new handle also succeeds.
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
    """The error is ReceiptHandleIsInvalid (AWS SDK for Java v2, issue 3101), and both messages stay in the queue."""
    url, other = sqs.create(), sqs.create()
    sqs.send(url)
    sqs.send(other)
    handle = sqs.receive_one(other)["ReceiptHandle"]
    assert sqs.code("delete_message", QueueUrl=url, ReceiptHandle=handle) == "ReceiptHandleIsInvalid"
    assert (sqs.counts(url), sqs.counts(other)) == ((1, 0, 0), (0, 1, 0))


def test_a_handle_in_another_region_or_account(sqs: Sqs) -> None:
    """A queue with the same name in another region or account is a different queue."""
    name = sqs.name()
    here = sqs.client.create_queue(QueueName=name)["QueueUrl"]
    sqs.send(here)
    handle = sqs.receive_one(here)["ReceiptHandle"]
    for other in (sqs.caller(region="eu-west-1"), sqs.caller(account="111122223333")):
        url = other.client.create_queue(QueueName=name)["QueueUrl"]
        assert other.code("delete_message", QueueUrl=url, ReceiptHandle=handle) == "ReceiptHandleIsInvalid"
    assert sqs.counts(here) == (0, 1, 0)


def variants(handle: str) -> dict[str, str]:
    """Yields damaged copies of a valid handle, one for each kind of damage."""
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


def codes(response: dict[str, Any]) -> set[tuple[str, bool]]:
    assert response.get("Successful", []) == []
    assert [failure["Id"] for failure in response["Failed"]] == [str(n) for n in range(len(response["Failed"]))]
    return {(failure["Code"], failure["SenderFault"]) for failure in response["Failed"]}


@pytest.mark.parametrize("suffix", ["", ".fifo"])
def test_an_invalid_handle_deletes_and_hides_no_message(sqs: Sqs, suffix: str) -> None:
    """The API reference defines the code ReceiptHandleIsInvalid. Each entry fails with a sender's fault."""
    create = sqs.create_fifo if suffix else sqs.create
    url, other = create(), create()
    mine, foreign = received(sqs, url, 20), received(sqs, other, 10)
    tried = forgeries(3, FORGERIES, mine, foreign)
    for number, entries in enumerate(batches(tried)):
        if number % 2:
            response = sqs.client.delete_message_batch(QueueUrl=url, Entries=entries)
        else:
            hidden = [{**entry, "VisibilityTimeout": 0} for entry in entries]
            response = sqs.client.change_message_visibility_batch(QueueUrl=url, Entries=hidden)
        assert codes(response) == {("ReceiptHandleIsInvalid", True)}
    assert (sqs.counts(url), sqs.counts(other)) == ((0, 20, 0), (0, 10, 0))


def test_one_by_one(sqs: Sqs) -> None:
    url, other = sqs.create(), sqs.create()
    mine, foreign = received(sqs, url, 3), received(sqs, other, 3)
    for forged in forgeries(4, 100, mine, foreign):
        assert sqs.code("delete_message", QueueUrl=url, ReceiptHandle=forged) == "ReceiptHandleIsInvalid"
    assert sqs.counts(url) == (0, 3, 0)
