"""Statements for event source mappings, which the API and the worker `poll` call."""

from typing import NamedTuple
from uuid import UUID

from penstock.postgres.statement import JsonObject, Statement


class MappingResultRow(NamedTuple):
    """The stored mapping, or an error. With the error MappingExists, the row has the existing mapping."""

    error: str | None
    mapping: JsonObject | None


class MappingRow(NamedTuple):
    mapping: JsonObject


CREATE_MAPPING = Statement(
    "queue.create_mapping",
    ("text", "text", "text", "text", "text", "jsonb", "jsonb", "bool", "jsonb"),
    MappingResultRow,
    is_audited=True,
)
UPDATE_MAPPING = Statement(
    "queue.update_mapping",
    ("text", "text", "uuid", "text", "text", "jsonb", "jsonb", "bool"),
    MappingResultRow,
    is_audited=True,
)
LIST_MAPPINGS = Statement("queue.list_mappings", ("text", "text", "uuid", "text", "text", "uuid", "int4"), MappingRow)
LIST_TROUBLED_MAPPINGS = Statement("queue.list_troubled_mappings", ("text", "text", "text", "int4"), MappingRow)
DROP_MAPPING = Statement("queue.drop_mapping", ("text", "text", "uuid"), MappingRow, is_audited=True)


class TaggedMappingRow(NamedTuple):
    """The reason why the tags were not changed, or None after a change."""

    error: str | None


TAG_MAPPING = Statement(
    "queue.tag_mapping", ("text", "text", "uuid", "jsonb", "text[]"), TaggedMappingRow, is_audited=True
)


class ClaimedMappingRow(NamedTuple):
    """A mapping for which the caller polls, and the database's time in milliseconds since 1970.

    `next_end_ms` is the number of milliseconds until the first registration of another process ends, or None. A single
    row without a mapping means that other processes poll for all mappings.
    """

    mapping_id: UUID | None
    revision: int | None
    now_ms: int
    next_end_ms: int | None


CLAIM_MAPPINGS = Statement("queue.claim_mappings", ("uuid", "int4", "uuid[]", "int8[]"), ClaimedMappingRow)
READ_MAPPINGS = Statement("queue.read_mappings", ("uuid[]",), MappingRow)


class UserPoliciesRow(NamedTuple):
    """A user's policies: names of built-in policies, or JSON."""

    policies: list[str] | None


USER_POLICIES = Statement("queue.user_policies", ("text", "text"), UserPoliciesRow)


class ReportedMappingRow(NamedTuple):
    """Whether the mapping still has this revision."""

    known: bool


REPORT_MAPPING = Statement("queue.report_mapping", ("uuid", "int8", "text", "text"), ReportedMappingRow)


class CountedMappingsRow(NamedTuple):
    known: int


COUNT_MAPPINGS = Statement("queue.count_mappings", ("uuid[]", "int8[]", "int8[]"), CountedMappingsRow)


class PassedMessageRow(NamedTuple):
    """The number, from 1, of a message that matches a filter."""

    n: int


FILTER_MESSAGES = Statement("queue.filter_messages", ("jsonb[]", "jsonb[]"), PassedMessageRow)
