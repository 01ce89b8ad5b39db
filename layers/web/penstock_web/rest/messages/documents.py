"""Defines documents of messages that only the REST API has."""

from typing import Annotated, Final

import msgspec

from penstock.documents.decoding import build_exactly_one_of
from penstock.management.messages.search import ShownGroup
from penstock.management.messages.types import MessageId, NewMessage, Seconds12h

SendBody = NewMessage | Annotated[list[NewMessage], msgspec.Meta(min_length=1)]


class Deletion(msgspec.Struct, forbid_unknown_fields=True):
    """Names messages to delete, by id or by receipt."""

    ids: Annotated[list[MessageId], msgspec.Meta(max_length=1_000)] | None = None
    receipts: Annotated[list[str], msgspec.Meta(max_length=1_000)] | None = None


EITHER: Final = msgspec.Meta(extra_json_schema=build_exactly_one_of("ids", "receipts"))


class DeletedIds(msgspec.Struct):
    """Lists the ids whose messages this request deleted."""

    deleted: list[int]


class DeletedReceipts(msgspec.Struct):
    """Lists the receipts whose messages this request deleted."""

    deleted: list[str]


class Visibility(msgspec.Struct, forbid_unknown_fields=True):
    """Makes the message visible `vt` seconds from now."""

    vt: Seconds12h


class FailureAnswer(msgspec.Struct):
    """Has the largest groups, the largest first. `group_count` is the number of groups among the examined messages."""

    groups: list[ShownGroup]
    group_count: int
    looked_at: int
    of: int | None
    next: str | None
