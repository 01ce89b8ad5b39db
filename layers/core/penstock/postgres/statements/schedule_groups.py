"""Groups of schedules."""

from typing import NamedTuple

from penstock.postgres.statement import JsonObject, Statement


class PutGroupRow(NamedTuple):
    """The stored group, and whether it is new, or an error."""

    schedule_group: JsonObject | None
    created: bool
    error: str | None


PUT_SCHEDULE_GROUP = Statement(
    "queue.put_schedule_group", ("text", "text", "text", "jsonb", "text"), PutGroupRow
)


class GroupRow(NamedTuple):
    schedule_group: JsonObject


READ_SCHEDULE_GROUP = Statement("queue.read_schedule_group", ("text", "text", "text"), GroupRow)
LIST_SCHEDULE_GROUPS = Statement(
    "queue.list_schedule_group_page", ("text", "text", "text", "text", "int4"), GroupRow
)


class GroupErrorRow(NamedTuple):
    error: str | None


TAG_SCHEDULE_GROUP = Statement(
    "queue.tag_schedule_group", ("text", "text", "text", "jsonb", "int4"), GroupErrorRow
)
UNTAG_SCHEDULE_GROUP = Statement(
    "queue.untag_schedule_group", ("text", "text", "text", "text[]"), GroupErrorRow
)
