"""FilterCriteria. The engine of filter policies compiles them, and SQL compares them.

A pattern applies to the record that the function would get. Its body is JSON if it is a JSON object, and text
otherwise. A pattern has the operators and limits of filter policies. A message passes if any pattern matches. Source:
"Using event filtering with an Amazon SQS event source",
https://docs.aws.amazon.com/lambda/latest/dg/with-sqs-filtering.html
"""

from collections.abc import Mapping, Sequence

import msgspec

from penstock.postgres.statement import JsonObject
from penstock.sns.errors import InvalidParameter
from penstock.sns.filter_policy import compile as policies
from penstock.sns.filter_policy.facts import (
    UnreadableBody,
    flatten_document,
    has_too_many_containers,
    list_members,
)

from .errors import InvalidParameterValueException
from .types import FilterCriteria


def compile_filters(criteria: FilterCriteria | None) -> list[object] | None:
    """Compiles the patterns. Returns None if every message passes. Raises InvalidParameterValueException."""
    found: list[object] = []
    for one in (criteria.filters if criteria is not None else None) or ():
        try:
            policy = policies.compile_policy(one.pattern or "{}", "MessageBody")
        except InvalidParameter as error:
            raise InvalidParameterValueException(
                "Invalid filter pattern definition.", error.message
            ) from error
        if policy is None:  # `{}` matches everything
            return None
        found.append(msgspec.json.decode(policy))
    return found or None


def read_facts(records: Sequence[JsonObject]) -> list[Mapping[str, object] | None]:
    """Returns the facts for the patterns, one entry for each record. It is None for a record that cannot match."""
    return [_find_facts(record) for record in records]


def _find_facts(record: JsonObject) -> Mapping[str, object] | None:
    document = {**record, "body": _decode_body(record["body"])}
    try:
        return flatten_document(list_members(document))
    except (RecursionError, UnreadableBody):
        return None


def _decode_body(text: str) -> object:
    """Returns the body as a JSON object, or otherwise as text."""
    if text.lstrip()[:1] != "{" or has_too_many_containers(text):
        return text
    try:
        return msgspec.json.decode(text)
    except (msgspec.DecodeError, ValueError, RecursionError):
        return text
