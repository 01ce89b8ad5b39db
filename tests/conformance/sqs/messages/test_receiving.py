"""Tests of ReceiveMessage. The sources are ReceiveMessage (API reference) and "Short and long polling" and "Visibility
timeout" (Developer Guide).

Also tests receives that return several messages of up to 1 MiB. ReceiveMessage: "fewer messages might be returned".

SendMessage: "The minimum size is one character. The maximum size is 1 MiB". ApproximateReceiveCount, "the number of
times a message has been received across all queues but not deleted", counts only receives whose response contained the
message.

The sources for fair queues are the SQS Developer Guide, "Amazon SQS fair queues" and "How Amazon SQS fair queues work".
"""

from __future__ import annotations

import itertools
import json
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from typing import Any

import pytest

from tests.support.conformance.requests import md5_of_attributes
from tests.support.conformance.sqs import Sqs, other_deployment

in_cbor = pytest.mark.cbor("container")

ATTRIBUTES = {
    name: {"DataType": "String", "StringValue": f"value of {name}"} for name in ("bar.one", "bar.two", "bark", "other")
}


@in_cbor
def test_at_most_so_many(sqs: Sqs) -> None:
    """MaxNumberOfMessages is 1 to 10 and 1 by default. A receive returns at most this number of messages."""
    url = sqs.create()
    entries = [{"Id": str(n), "MessageBody": str(n)} for n in range(10)]
    for _ in range(2):
        sqs.client.send_message_batch(QueueUrl=url, Entries=entries)
    assert len(sqs.client.receive_message(QueueUrl=url)["Messages"]) == 1
    assert len(sqs.poll(url, 3)) <= 3
    assert 1 <= len(sqs.poll(url, 10)) <= 10


def test_everything_is_received_once(sqs: Sqs) -> None:
    """A receive does not return a message during the visibility timeout."""
    url = sqs.create()
    bodies = [str(number) for number in range(30)]
    sqs.send_all(url, *bodies)
    assert sorted(message["Body"] for message in sqs.receive(url, 30)) == sorted(bodies)
    assert (sqs.poll(url), sqs.counts(url)) == ([], (0, 30, 0))


@in_cbor
@pytest.mark.parametrize(
    "bad",
    [
        {"MaxNumberOfMessages": 0},
        {"MaxNumberOfMessages": 11},
        {"MaxNumberOfMessages": -1},
        {"WaitTimeSeconds": -1},
        {"WaitTimeSeconds": 21},
        {"VisibilityTimeout": -1},
        {"VisibilityTimeout": 43_201},
        {"VisibilityTimeout": 2**31},
    ],
)
def test_numbers_out_of_range(sqs: Sqs, bad: dict[str, int]) -> None:
    """The ranges are 1 to 10 messages, 0 to 20 s of waiting, and 0 to 43,200 s of visibility timeout. A receive that
    fails makes no message invisible.
    """
    url = sqs.create()
    sqs.send(url)
    assert sqs.code("receive_message", QueueUrl=url, **bad) == "InvalidParameterValue"
    assert sqs.counts(url) == (1, 0, 0)


@in_cbor
def test_an_empty_queue(sqs: Sqs) -> None:
    """The response for an empty queue has no member `Messages`."""
    assert "Messages" not in sqs.client.receive_message(QueueUrl=sqs.create())


def test_the_timeout_of_the_queue(sqs: Sqs) -> None:
    """Without a timeout in the request, VisibilityTimeout of the queue applies, and then the service delivers the
    message again.
    """
    url = sqs.create(VisibilityTimeout="60")
    sent = sqs.send(url)
    first = sqs.receive_one(url)
    sqs.clock.advance(30)
    assert sqs.poll(url) == []
    sqs.clock.advance(30)
    second = sqs.receive_one(url)
    assert (first["MessageId"], second["MessageId"]) == (sent["MessageId"], sent["MessageId"])
    assert first["ReceiptHandle"] != second["ReceiptHandle"]


@in_cbor
def test_the_timeout_of_the_request(sqs: Sqs) -> None:
    """VisibilityTimeout in the request overrides VisibilityTimeout of the queue."""
    url = sqs.create(VisibilityTimeout="10")
    sqs.send(url)
    sqs.receive_one(url, VisibilityTimeout=43_200)
    sqs.clock.advance(43_140)
    assert sqs.poll(url) == []
    sqs.clock.advance(60)
    assert len(sqs.receive(url, 1)) == 1


def test_a_timeout_of_zero(sqs: Sqs) -> None:
    """With VisibilityTimeout=0 the message stays visible, and the handle works."""
    url = sqs.create()
    sent = sqs.send(url)
    first, message = (sqs.receive_one(url, VisibilityTimeout=0) for _ in range(2))
    assert first["MessageId"] == message["MessageId"] == sent["MessageId"]
    assert sqs.counts(url) == (1, 0, 0)
    sqs.delete(url, message)
    assert (sqs.counts(url), sqs.poll(url)) == ((0, 0, 0), [])


@in_cbor
# --- attributes ------------------------------------------------------------------------------------------------------
def test_system_attributes(sqs: Sqs) -> None:
    """Times are in milliseconds since 1970. The receive count rises, but the time of the first receive stays the
    same.
    """
    url = sqs.create()
    before = int(sqs.clock.now().timestamp() * 1000)
    sqs.send(url)
    first = sqs.receive_one(url, AttributeNames=["All"], VisibilityTimeout=0)["Attributes"]
    second = sqs.receive_one(url, AttributeNames=["All"])["Attributes"]
    after = int(sqs.clock.now().timestamp() * 1000) + 1
    names = {"SenderId", "SentTimestamp", "ApproximateReceiveCount", "ApproximateFirstReceiveTimestamp"}
    assert first.keys() == names
    times = [before, int(first["SentTimestamp"]), int(first["ApproximateFirstReceiveTimestamp"]), after]
    assert times == sorted(times)
    assert second == {**first, "ApproximateReceiveCount": "2"}
    assert first["ApproximateReceiveCount"] == "1"


@in_cbor
@pytest.mark.parametrize("name", ["SenderId", "SentTimestamp", "ApproximateReceiveCount"])
def test_one_system_attribute(sqs: Sqs, name: str) -> None:
    url = sqs.create()
    sqs.send(url)
    assert sqs.receive_one(url, AttributeNames=[name])["Attributes"].keys() == {name}


@in_cbor
def test_the_new_name_of_the_old_list(sqs: Sqs) -> None:
    """MessageSystemAttributeNames replaces AttributeNames, but botocore 1.31's Query model lacks the new member."""
    known = sqs.client.meta.service_model.operation_model("ReceiveMessage").input_shape.members
    name = "MessageSystemAttributeNames"
    assert (name in known) == (sqs.protocol != "query")
    url = sqs.create()
    sqs.send(url)
    more = {name if name in known else "AttributeNames": ["SenderId"]}
    assert sqs.receive_one(url, **more)["Attributes"].keys() == {"SenderId"}


@in_cbor
def test_a_system_attribute_that_does_not_exist(sqs: Sqs) -> None:
    """The error is InvalidAttributeName, and no message becomes invisible."""
    url = sqs.create()
    sqs.send(url)
    code = sqs.code("receive_message", QueueUrl=url, AttributeNames=["All", "Colour"])
    assert (code, sqs.counts(url)) == ("InvalidAttributeName", (1, 0, 0))


@in_cbor
@pytest.mark.parametrize(
    ("names", "expected"),
    [
        (["All"], {"bar.one", "bar.two", "bark", "other"}),
        ([".*"], {"bar.one", "bar.two", "bark", "other"}),
        (["*"], {"bar.one", "bar.two", "bark", "other"}),
        (["bar.*"], {"bar.one", "bar.two", "bark"}),
        (["other"], {"other"}),
        (["other", "bar.o*", "none"], {"other"}),
        (["other", "bar.one"], {"other", "bar.one"}),
        (["none"], set()),
    ],
)
def test_message_attributes_by_name(sqs: Sqs, names: list[str], expected: set[str]) -> None:
    """MessageAttributeNames takes names, `All` or `.*`, and `bar.*` for "all message attributes starting with a
    prefix". `*` also means all attributes (recorded at AWS).

    The MD5 covers only the attributes in the response, because SDKs compute the MD5 from these attributes.
    """
    url = sqs.create()
    sqs.send(url, MessageAttributes=ATTRIBUTES)
    message = sqs.receive_one(url, MessageAttributeNames=names)
    assert message.get("MessageAttributes", {}).keys() == expected
    digest = md5_of_attributes({name: ATTRIBUTES[name] for name in expected}) if expected else None
    assert message.get("MD5OfMessageAttributes") == digest


@in_cbor
def test_no_message_attributes_unless_asked(sqs: Sqs) -> None:
    url = sqs.create()
    sqs.send(url, MessageAttributes=ATTRIBUTES)
    assert sqs.receive_one(url).keys() == {"MessageId", "ReceiptHandle", "MD5OfBody", "Body"}


# --- long polling ----------------------------------------------------------------------------------------------------
def poll_during_another(sqs: Sqs, poll: Callable[[], list[dict[str, Any]]]) -> list[str]:
    """Runs `poll` while an earlier poll of another queue waits, and returns the bodies of its messages. Returns the
    bodies.

    The earlier poll still waits afterwards, so `poll` took less than 20 seconds.
    """
    waiting_url, bodies = sqs.create(), list[str]()

    def act() -> None:
        bodies.extend(message["Body"] for message in poll())
        sqs.send(waiting_url, "afterwards")

    messages = sqs.while_waiting(waiting_url, act, WaitTimeSeconds=20)
    assert [message["Body"] for message in messages] == ["afterwards"]
    return bodies


@in_cbor
@pytest.mark.parametrize("find_sender", [lambda sqs: sqs, other_deployment], ids=["same", "other"])
def test_a_long_poll_ends_when_a_message_arrives(sqs: Sqs, find_sender: Callable[[Sqs], Sqs]) -> None:
    """A long poll returns as soon as a message is available (Developer Guide). The deployment of the poll or the other
    deployment sends the message, because the container and the functions form one service.
    """
    url, sender = sqs.create(), find_sender(sqs)
    wait = partial(sqs.while_waiting, url, lambda: sender.send(url, "hello"), WaitTimeSeconds=20)
    assert poll_during_another(sqs, wait) == ["hello"]


def test_a_long_poll_by_the_queue(sqs: Sqs) -> None:
    """The queue's ReceiveMessageWaitTimeSeconds is the default. A message that becomes visible ends the poll."""
    url = sqs.create(ReceiveMessageWaitTimeSeconds="20")
    sqs.send(url)
    message = sqs.receive_one(url)
    messages = sqs.while_waiting(url, lambda: sqs.hide(url, message, 0))
    assert [found["MessageId"] for found in messages] == [message["MessageId"]]


def test_a_short_poll_on_a_queue_with_long_polls(sqs: Sqs) -> None:
    """WaitTimeSeconds=0 in the request takes precedence over the 20 seconds of the queue."""
    url = sqs.create(ReceiveMessageWaitTimeSeconds="20")
    assert poll_during_another(sqs, partial(sqs.poll, url, WaitTimeSeconds=0)) == []


def test_a_long_poll_ends_empty(sqs: Sqs) -> None:
    """The poll waits and then ends without messages."""
    assert sqs.while_waiting(sqs.create(), lambda: None, WaitTimeSeconds=2) == []


def test_a_long_poll_ends_with_its_queue(sqs: Sqs) -> None:
    """If a client deletes the queue, the poll returns no messages or QueueDoesNotExist, and the service still works."""
    url = sqs.create()
    messages = []
    with suppress(sqs.client.exceptions.QueueDoesNotExist):
        messages = sqs.while_waiting(url, lambda: sqs.client.delete_queue(QueueUrl=url), WaitTimeSeconds=2)
    assert messages == []
    assert sqs.create()


def test_handles_are_new_on_every_receive(sqs: Sqs) -> None:
    """Message identifiers (Developer Guide): "each time you receive it, you get a different receipt handle"."""
    url = sqs.create()
    sqs.send(url)
    handles = [sqs.receive_one(url, VisibilityTimeout=0)["ReceiptHandle"] for _ in range(4)]
    assert all(first != second for first, second in itertools.combinations(handles, 2))


MIB = 1_048_576
MAX_RESPONSE_LENGTH = 6 * MIB  # SDKs and proxies must store it; functions may answer no more ("Lambda quotas")


@pytest.mark.parametrize("fifo", [False, pytest.param(True, marks=pytest.mark.slow)], ids=["standard", "fifo"])
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
        assert sum(len(message["Body"]) for message in messages) < MAX_RESPONSE_LENGTH
        found += [(message["Body"][0], message["Attributes"]["ApproximateReceiveCount"]) for message in messages]
    assert sorted(found) == [(str(number), "1") for number in range(10)]
    assert (sqs.counts(url), sqs.counts(dead)) == ((0, 10, 0), (0, 0, 0))


@in_cbor
@pytest.mark.parametrize("character", ["漢", "\n"], ids=["three bytes", "escaped"])
def test_a_mib_goes_in_and_out(sqs: Sqs, character: str) -> None:
    url = sqs.create()
    body = character * (MIB // len(character.encode()))
    sqs.send(url, body)
    (message,) = sqs.poll(url)
    assert message["Body"] == body


def test_quiet_groups_come_before_the_backlog_of_a_noisy_one(sqs: Sqs) -> None:
    """The noisy group has far more than a tenth of the messages in flight, and more than 30 messages."""
    url = sqs.create()
    sqs.send_all(url, *(f"noisy {n}" for n in range(200)), MessageGroupId="noisy")
    sqs.receive(url, 40)
    sqs.send_all(url, "quiet", "quiet", MessageGroupId="quiet")
    sqs.send_all(url, "on its own")  # without a group, the message is a separate group
    sqs.clock.advance(1)  # the service determines noisy groups four times a second
    bodies = [message["Body"].split()[0] for message in sqs.poll(url, 10)]
    assert (sorted(bodies[:3]), bodies[3:]) == (["on", "quiet", "quiet"], ["noisy"] * 7)


def test_noisy_groups_lose_nothing(sqs: Sqs) -> None:
    """A receive returns a noisy group's message once, as soon as no other group has messages, and the response
    contains the group.
    """
    url = sqs.create()
    sent = [f"noisy {n}" for n in range(100)]
    sqs.send_all(url, *sent, MessageGroupId="noisy")
    taken = sqs.receive(url, 40)
    sqs.send(url, "quiet", MessageGroupId="quiet")
    taken += sqs.receive(url, 61, AttributeNames=["All"])
    assert sorted(message["Body"] for message in taken) == sorted([*sent, "quiet"])
    assert {m["Attributes"]["MessageGroupId"] for m in taken[41:]} == {"noisy"}
    assert sqs.counts(url) == (0, 101, 0)
