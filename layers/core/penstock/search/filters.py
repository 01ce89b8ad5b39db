"""What a message must be like to be found, moved or counted: one form for searches, failure groups and moves."""

from typing import Annotated

import msgspec

from penstock import errors
from penstock.aws.arn import resolve_queue
from penstock.context import Context
from penstock.sqs import validation

LONGEST_TEXT = 1_024
MOST_NAMES = 32  # of a path into JSON
LONGEST_TIME = 2_592_000  # seconds; no message is kept for longer than 14 days

Text = Annotated[str, msgspec.Meta(min_length=1, max_length=LONGEST_TEXT)]
Seconds = Annotated[int, msgspec.Meta(ge=0, le=LONGEST_TIME)]
Receives = Annotated[int, msgspec.Meta(ge=0, lt=2**31)]
Number = int | float
State = Annotated[str, msgspec.Meta(pattern="^(visible|in_flight|delayed)$")]


class JsonFilter(msgspec.Struct, forbid_unknown_fields=True):
    """The body is JSON, and the value at `path` equals `equals`.

    `path`: names from the outside in, of a list its positions from 0; one text is split at its dots: `a.lines.0.sku`.
    """

    path: Text | Annotated[list[Text], msgspec.Meta(min_length=1, max_length=MOST_NAMES)]
    equals: Text | Number | bool | None

    @property
    def names(self) -> list[str]:
        """The names of the path."""
        return self.path.split(".") if isinstance(self.path, str) else self.path


class AttributeFilter(msgspec.Struct, forbid_unknown_fields=True, omit_defaults=True):
    """The message has this attribute (a header), whose text equals; any text when `equals` is not given."""

    name: Text
    equals: Text | None = None


class MessageFilter(msgspec.Struct, forbid_unknown_fields=True, omit_defaults=True):
    """A message passes that passes every member that is given.

    `states`: visible, in_flight, delayed; all when not given. `text`: the body contains it, upper and lower case apart.
    `older_than_seconds`, `newer_than_seconds`: since it came into this queue. `min_receive_count`, `max_receive_count`:
    how often it was received in all queues (ApproximateReceiveCount of SQS). `source_queue`: name of the queue from
    which it came into this dead-letter queue. `shape`: of its body, as failure groups have it.
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

    def as_json(self, context: Context) -> str:
        """Returns the filter for `queue.find_messages`. Raises InvalidParameterValue for impossible characters."""
        found = msgspec.to_builtins(self)
        if self.json is not None:
            found["json"] = {"path": self.json.names, "equals": self.json.equals}
        if self.source_queue is not None:
            source = resolve_queue(context.region, context.account_id, found.pop("source_queue"))
            if source is None:
                raise errors.InvalidParameterValue("filter.source_queue: no queue has such a name")
            found["source_arn"] = source.arn
        _check_texts(found)
        return msgspec.json.encode(found).decode()


def _check_texts(value: object) -> None:
    """Raises InvalidParameterValue for characters that no message can have, and the database cannot store."""
    if isinstance(value, str) and validation.encode_text(value) is None:
        raise errors.InvalidParameterValue("filter: a character that no message can have")
    if isinstance(value, dict):
        for one in value.values():
            _check_texts(one)
    elif isinstance(value, list):
        for one in value:
            _check_texts(one)
