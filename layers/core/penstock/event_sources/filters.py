"""Compiles FilterCriteria with the engine of filter policies. SQL compares messages with the compiled filters.

A pattern applies to the record that the function would receive. A pattern compares a record's body as JSON if the body
is a JSON object, and as text otherwise. Patterns have the operators and limits of filter policies. A message matches if
at least one pattern matches. Source: "Using event filtering with an Amazon SQS event source",
https://docs.aws.amazon.com/lambda/latest/dg/with-sqs-filtering.html
"""

from collections.abc import Sequence

import msgspec

from penstock.aws.json_text import decode_json
from penstock.postgres.statement import JsonObject
from penstock.sns.errors import InvalidParameter
from penstock.sns.filter_policy import compile as policies
from penstock.sns.filter_policy.facts import (
    UNJUDGED,
    UnreadableBody,
    flatten_document,
    has_too_many_containers,
    list_members,
)

from .errors import InvalidParameterValueException
from .types import FilterCriteria


def compile_filters(criteria: FilterCriteria | None) -> list[object] | None:
    """Compiles the patterns. Returns None if every message matches. Raises InvalidParameterValueException."""
    compiled: list[object] = []
    for criterion in (criteria.filters if criteria is not None else None) or ():
        pattern = "{}" if criterion.pattern is None else criterion.pattern
        try:
            policy = policies.compile_policy(pattern, "MessageBody")
        except InvalidParameter as error:
            place = policies.describe_place(pattern, error.message)
            raise InvalidParameterValueException(
                "Invalid filter pattern definition.", error.message + place, member="FilterCriteria"
            ) from error
        if policy is None:  # `{}` matches everything
            return None
        compiled.append(msgspec.json.decode(policy))
    return compiled or None


def encode_facts(records: Sequence[JsonObject]) -> list[bytes]:
    """Returns the facts that patterns compare, in JSON, with one entry per record. The entry of a record that is too
    complicated is UNJUDGED, which matches every pattern. The conversion takes up to 0.4 s per MiB."""
    return [_encode_facts(record) for record in records]


def _encode_facts(record: JsonObject) -> bytes:
    try:
        document = {**record, "body": _decode_body(record["body"])}
        return msgspec.json.encode(flatten_document(list_members(document)))
    except (RecursionError, UnreadableBody):
        return UNJUDGED


def _decode_body(text: str) -> object:
    """Returns the body as a JSON object, or otherwise as text. Raises UnreadableBody and RecursionError."""
    if text.lstrip()[:1] != "{":
        return text
    if has_too_many_containers(text):
        raise UnreadableBody
    try:
        return decode_json(text)
    except ValueError:
        return text
