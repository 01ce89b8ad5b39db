"""The filter that searches, failure groups and moves use."""

from typing import Annotated

import msgspec

from penstock import errors
from penstock.aws.arn import resolve_queue
from penstock.context import Context
from penstock.sqs import validation

MAX_TEXT_LENGTH = 1_024
MAX_NAMES = 32  # the length of a path into JSON
MAX_TIME_SECONDS = 2_592_000  # seconds; the service keeps no message for longer than 14 days

Text = Annotated[str, msgspec.Meta(min_length=1, max_length=MAX_TEXT_LENGTH)]
Seconds = Annotated[int, msgspec.Meta(ge=0, le=MAX_TIME_SECONDS)]
Receives = Annotated[int, msgspec.Meta(ge=0, lt=2**31)]
Number = int | float
State = Annotated[str, msgspec.Meta(pattern="^(visible|in_flight|delayed)$")]


class JsonFilter(msgspec.Struct, forbid_unknown_fields=True):
    """Matches messages whose body is JSON in which the value at `path` equals `equals`.

    `path` lists names from the outside in; positions in a list count from 0. A text is split at its dots:
    `a.lines.0.sku`.
    """

    path: Text | Annotated[list[Text], msgspec.Meta(min_length=1, max_length=MAX_NAMES)]
    equals: Text | Number | bool | None

    @property
    def names(self) -> list[str]:
        return self.path.split(".") if isinstance(self.path, str) else self.path


class AttributeFilter(msgspec.Struct, forbid_unknown_fields=True, omit_defaults=True):
    """Matches messages with this attribute (a header). Any text matches if `equals` is absent."""

    name: Text
    equals: Text | None = None


class MessageFilter(msgspec.Struct, forbid_unknown_fields=True, omit_defaults=True):
    """Matches messages that meet all given conditions.

    `states` lists visible, in_flight and delayed; the default is all three. `text` must occur in the body, with the
    same upper and lower case. `older_than_seconds` and `newer_than_seconds` count from the time when the message
    entered this queue. `min_receive_count` and `max_receive_count` limit the receives in all queues (SQS's
    ApproximateReceiveCount). `source_queue` is the name of the queue from which the message entered this dead-letter
    queue. `shape` is the shape of the body, as in failure groups. `cause` is the cause of the failure, as in failure
    groups; an empty text matches messages without an error.
    """

    states: Annotated[list[State], msgspec.Meta(min_length=1, max_length=3)] | None = None
    text: Text | None = None
    json: JsonFilter | None = None
    attribute: AttributeFilter | None = None
    group_id: Annotated[str, msgspec.Meta(min_length=1, max_length=128)] | None = None
    older_than_seconds: Seconds | None = None
    newer_than_seconds: Seconds | None = None
    min_receive_count: Receives | None = None
    max_receive_count: Receives | None = None
    source_queue: Annotated[str, msgspec.Meta(min_length=1, max_length=80)] | None = None
    shape: Annotated[str, msgspec.Meta(pattern="^[0-9a-f]{32}$")] | None = None
    cause: Annotated[str, msgspec.Meta(max_length=200)] | None = None

    def as_json(self, context: Context) -> str:
        """Returns the filter for `queue.find_messages`. Raises InvalidParameterValue for impossible characters."""
        found = msgspec.to_builtins(self)
        if self.json is not None:
            found["json"] = {"path": self.json.names, "equals": self.json.equals}
        if self.source_queue is not None:
            source = resolve_queue(context.region, context.account_id, found.pop("source_queue"))
            if source is None:
                raise errors.InvalidParameterValue("filter.source_queue: not a valid queue name")
            found["source_arn"] = source.arn
        _check_texts(found)
        return msgspec.json.encode(found).decode()


def _check_texts(value: object) -> None:
    """Raises InvalidParameterValue for characters that no message can have, because the database cannot store them."""
    if isinstance(value, str) and validation.encode_text(value) is None:
        raise errors.InvalidParameterValue("filter: contains a character that messages cannot contain")
    if isinstance(value, dict):
        for element in value.values():
            _check_texts(element)
    elif isinstance(value, list):
        for element in value:
            _check_texts(element)
