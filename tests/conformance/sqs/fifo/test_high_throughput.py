"""DeduplicationScope and FifoThroughputLimit.

Sources: CreateQueue, SetQueueAttributes; Developer Guide, "High throughput for FIFO queues".
"""

from __future__ import annotations

import pytest

from tests.support.conformance.sqs import Sqs

BOTH = {"DeduplicationScope": "messageGroup", "FifoThroughputLimit": "perMessageGroupId"}
NEITHER = {"DeduplicationScope": "queue", "FifoThroughputLimit": "perQueue"}


def change(sqs: Sqs, url: str, **attributes: str) -> dict[str, str]:
    """The attributes that are read back after the change."""
    sqs.client.set_queue_attributes(QueueUrl=url, Attributes=attributes)
    return sqs.attributes(url, *BOTH)


def test_on_and_off(sqs: Sqs) -> None:
    """Off by default, at creation and later; each value is read back as it was set."""
    url = sqs.create_fifo()
    assert sqs.attributes(url, *BOTH) == NEITHER
    assert change(sqs, url, **BOTH) == BOTH
    assert change(sqs, url, **NEITHER) == NEITHER
    assert sqs.attributes(sqs.create_fifo(**BOTH), *BOTH) == BOTH


def test_one_after_the_other(sqs: Sqs) -> None:
    """The scope may stand alone, "and deduplication occurs as specified"; the limit needs it."""
    url = sqs.create_fifo()
    assert change(sqs, url, DeduplicationScope="messageGroup") == {
        **NEITHER,
        "DeduplicationScope": "messageGroup",
    }
    assert change(sqs, url, FifoThroughputLimit="perMessageGroupId") == BOTH


LIMIT = {"FifoThroughputLimit": "perMessageGroupId"}
NOT_ALLOWED = (
    "The perMessageGroupId value is allowed only when the value for DeduplicationScope is messageGroup."
)


@pytest.mark.parametrize("scope", [{}, {"DeduplicationScope": "queue"}], ids=["default", "queue"])
def test_the_limit_needs_the_scope(sqs: Sqs, scope: dict[str, str]) -> None:
    """ "The perMessageGroupId value is allowed only when the value for DeduplicationScope is messageGroup"."""
    attributes = {"FifoQueue": "true", **LIMIT, **scope}
    refusal = sqs.refusal("create_queue", QueueName=sqs.name(".fifo"), Attributes=attributes)
    assert (refusal.code, refusal.status) == ("InvalidAttributeValue", 400)
    assert refusal.message.endswith(NOT_ALLOWED)
    url = sqs.create_fifo(**scope)
    assert sqs.code("set_queue_attributes", QueueUrl=url, Attributes={**LIMIT, **scope}) == refusal.code
    assert sqs.attributes(url, *BOTH) == NEITHER


def test_the_scope_stays_as_long_as_the_limit_needs_it(sqs: Sqs) -> None:
    url = sqs.create_fifo(**BOTH)
    refusal = sqs.refusal("set_queue_attributes", QueueUrl=url, Attributes={"DeduplicationScope": "queue"})
    assert (refusal.code, refusal.message.endswith(NOT_ALLOWED)) == ("InvalidAttributeValue", True)
    assert sqs.attributes(url, *BOTH) == BOTH


@pytest.mark.parametrize("name", BOTH)
@pytest.mark.parametrize("value", ["", "Queue", "messagegroup", "perqueue", "true"])
def test_values_that_cannot_be(sqs: Sqs, name: str, value: str) -> None:
    code = sqs.code("set_queue_attributes", QueueUrl=sqs.create_fifo(), Attributes={name: value})
    assert code == "InvalidAttributeValue"


@pytest.mark.parametrize("name", [*BOTH, "ContentBasedDeduplication"])
def test_only_for_fifo_queues(sqs: Sqs, name: str) -> None:
    """Recorded texts: what only FIFO queues have; CreateQueue does not know ContentBasedDeduplication then."""
    value = {**BOTH, "ContentBasedDeduplication": "true"}[name]
    refusal = sqs.refusal("set_queue_attributes", QueueUrl=sqs.create(), Attributes={name: value})
    only_fifo = f"You can specify the {name} only when FifoQueue is set to true."
    assert (refusal.code, refusal.message) == ("InvalidAttributeName", only_fifo)
    refusal = sqs.refusal("create_queue", QueueName=sqs.name(), Attributes={name: value})
    unknown = "Unknown Attribute ContentBasedDeduplication."
    text = unknown if name == "ContentBasedDeduplication" else only_fifo
    assert (refusal.code, refusal.message) == ("InvalidAttributeName", text)


def test_a_changed_scope_holds_for_new_ids(sqs: Sqs) -> None:
    """Recorded at AWS: an id that was seen in the whole queue stays known there, for its five minutes."""
    url = sqs.create_fifo()

    def send(group: str, deduplication_id: str = "d") -> str:
        sent = sqs.send(url, MessageGroupId=group, MessageDeduplicationId=deduplication_id)
        return str(sent["MessageId"])

    first = send("a")
    assert send("b") == first
    change(sqs, url, DeduplicationScope="messageGroup")
    assert send("b") == first
    assert send("a", "new") != send("b", "new")
    sqs.clock.advance(300)
    of_b = send("b")
    assert of_b != first
    assert send("b") == of_b
    assert sqs.counts(url) == (4, 0, 0)
