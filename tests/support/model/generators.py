"""Defines the outlines of requests that Hypothesis draws. An outline does not depend on earlier responses.

One number encodes an outline, digit by digit. An outline therefore needs one draw, and 0 is the simplest outline.
"""

import json
from collections.abc import Mapping
from typing import Any, NamedTuple

from hypothesis import strategies as st

MINUTE, HOUR = 60, 3600
HALF_A_DAY = 12 * HOUR

SOURCES = {"plain": "dead", "other": "dead", "line.fifo": "dead.fifo"}  # with their dead-letter queues
QUEUES = (*SOURCES, "dead", "dead.fifo")

# Most actions use few queues, so that these queues have many events.
names = st.sampled_from(("plain", "plain", "plain", "line.fifo", "line.fifo", "line.fifo", *QUEUES))
protocols = st.sampled_from(("json", "query"))
picks = st.integers(0, 39)
visibilities = st.sampled_from((None, None, 0, MINUTE, 10 * MINUTE, HALF_A_DAY))
pauses = st.sampled_from((2 * MINUTE, 5 * MINUTE, 10 * MINUTE, HOUR, HALF_A_DAY - MINUTE, HALF_A_DAY))
# The source and destination of a message move task. Most combinations are valid.
tasks = st.sampled_from(
    (
        *[("dead", None), ("dead.fifo", None)] * 3,
        *(("dead", "other"), ("dead.fifo", "line.fifo"), ("dead", "dead"), ("dead", "line.fifo"), ("plain", None)),
    )
)
actions = st.lists(st.sampled_from(("delete", 0, "leave", 10 * MINUTE)), min_size=3, max_size=10)

TEXT = {"kind": {"DataType": "String", "StringValue": "order"}}
SEVERAL = {
    **TEXT,
    "size": {"DataType": "Number.int", "StringValue": "-1.5e3"},
    "blob": {"DataType": "Binary", "BinaryValue": b"\0\xff"},
}
ELEVEN = {f"a{number}": TEXT["kind"] for number in range(11)}
TRACE = {"AWSTraceHeader": {"DataType": "String", "StringValue": "Root=1-5759e988-bd862e3fe1be46a994272793"}}

# Possible faults in a message, some of which are faults only on some queues.
FLAWS: tuple[Mapping[str, Any], ...] = (
    {"MessageBody": ""},
    {"MessageBody": "a\x01b"},
    {"MessageBody": "x" * 1025},
    {"DelaySeconds": 901},
    {"DelaySeconds": -1},
    {"DelaySeconds": MINUTE},
    {"MessageAttributes": ELEVEN},
    {"MessageDeduplicationId": "same"},
    {"MessageGroupId": None},
)


class Outline(NamedTuple):
    """Outlines a message. `body` and `identity` select one of a few values, or a new value (None). `group` selects one
    of a few groups, or none.
    """

    body: int | None = None
    group: int | None = 0
    identity: int | str | None = None
    delay: int | None = None
    attributes: int = 0
    flaw: int | None = None

    def entry(self, fifo: bool, number: int) -> dict[str, Any]:
        """Returns parameters for SendMessage. `number` makes new values unique."""
        entry: dict[str, Any] = {"MessageBody": f"body {number if self.body is None else -self.body}"}
        if fifo:
            entry["MessageGroupId"] = f"g{self.group or 0}"
            if self.identity != "content":
                entry["MessageDeduplicationId"] = f"d{number if self.identity is None else self.identity}"
        else:
            entry |= {} if self.group is None else {"MessageGroupId": f"tenant-{self.group}"}
            entry |= {} if self.delay is None else {"DelaySeconds": self.delay}
        entry |= {"MessageAttributes": (TEXT, SEVERAL)[self.attributes - 1]} if self.attributes else {}
        entry |= {"MessageSystemAttributes": TRACE} if self.attributes == 2 else {}
        entry |= {} if self.flaw is None else FLAWS[self.flaw]
        return {name: value for name, value in entry.items() if value is not None}


def outline(number: int) -> Outline:
    number, body = divmod(number, 4)
    number, group = divmod(number, 5)
    number, identity = divmod(number, 6)
    number, delay = divmod(number, 6)
    number, attributes = divmod(number, 3)
    return Outline(
        (None, None, 1, 2)[body],
        (0, 1, 2, None, None)[group],
        (None, None, None, "content", 1, 2)[identity],
        (None, None, None, 0, MINUTE, 15 * MINUTE)[delay],
        attributes,
        number - SOUND if number >= SOUND else None,
    )


SOUND = 4 * len(FLAWS)  # Four of five messages have no fault.
KINDS = 4 * 5 * 6 * 6 * 3
messages = st.integers(0, KINDS * (SOUND + len(FLAWS)) - 1).map(outline)
sound_messages = st.integers(0, KINDS - 1).map(outline)


def configuration(number: int) -> dict[str, Any]:
    """Returns a queue's attributes. `redrive` (maxReceiveCount) is for queues with a dead-letter queue."""
    number, visibility = divmod(number, 3)
    number, delay = divmod(number, 4)
    number, retention = divmod(number, 3)
    number, redrive = divmod(number, 4)
    return {
        "VisibilityTimeout": ("60", "60", "0")[visibility],
        "DelaySeconds": ("0", "0", "0", "120")[delay],
        "MessageRetentionPeriod": ("345600", "1209600", "3600")[retention],
        "redrive": (0, 1, 1, 2)[redrive],
        "ContentBasedDeduplication": ("false", "true")[number % 2],
        "DeduplicationScope": ("queue", "messageGroup")[number // 2 % 2],
    }


configurations = st.integers(0, 3 * 4 * 3 * 4 * 4 - 1).map(configuration)


def redrive_policy(target_arn: str, maximum: int) -> str:
    return json.dumps({"deadLetterTargetArn": target_arn, "maxReceiveCount": maximum})


# Changes to attributes, with the error code if AWS refuses the value. A `redrive` of 0 removes the policy.
CHANGES: tuple[tuple[dict[str, Any], str | None], ...] = (
    ({"VisibilityTimeout": "0"}, None),
    ({"VisibilityTimeout": "60", "MaximumMessageSize": "1024"}, None),
    ({"MaximumMessageSize": "1048576", "ReceiveMessageWaitTimeSeconds": "20"}, None),
    ({"DelaySeconds": "0"}, None),
    ({"DelaySeconds": "120"}, None),
    ({"DelaySeconds": "900"}, None),
    ({"MessageRetentionPeriod": "60"}, None),
    ({"MessageRetentionPeriod": "345600"}, None),
    ({"redrive": 0}, None),
    ({"redrive": 1}, None),
    ({"redrive": 3}, None),
    ({"ContentBasedDeduplication": "true"}, None),
    ({"ContentBasedDeduplication": "false"}, None),
    ({"DelaySeconds": "901"}, "InvalidAttributeValue"),
    ({"Colour": "red"}, "InvalidAttributeName"),
)
changes = st.sampled_from(CHANGES)
