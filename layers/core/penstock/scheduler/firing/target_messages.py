"""Builds the messages that SQL cannot build, for the topics, event buses and universal targets of schedules. One SQL
call sends the messages."""

from collections.abc import Sequence
from typing import NamedTuple

import msgspec

from penstock.aws.bus_arn import is_bus_arn
from penstock.aws.message_id import as_text, build_message_id
from penstock.aws.sns_arn import TopicArn, parse_topic_arn
from penstock.aws.universal_target import UniversalTargetInvalid, read_action
from penstock.effects import Operation
from penstock.environment import Environment
from penstock.errors import AwsError
from penstock.events.publishing import EntryError
from penstock.postgres.statement import JsonObject
from penstock.postgres.statements.messages import SendEntry
from penstock.scheduler.bus_events import build_bus_event
from penstock.scheduler.types import Target
from penstock.sns.filter_policy.unjudged import report_unjudged
from penstock.sns.publishing.attribute_checks import check_attribute_types
from penstock.sns.publishing.message_checks import check_message
from penstock.sns.publishing.outgoing_message import DEFAULT_TEXT, OutgoingMessage
from penstock.sns.publishing.publications import (
    TopicCache,
    build_contents,
    build_publisher_context,
    encode_publication,
)
from penstock.sns.types import PublishRequest
from penstock.sqs.send import build_message
from penstock.sqs.types import SendMessageRequest
from penstock.sqs.validation import check_message_size
from penstock.universal_calls import read_call

_json = msgspec.json.Encoder()


class Draft(NamedTuple):
    """A target, the text for it, and the account and region of the schedule."""

    target: JsonObject
    text: str
    account_id: str
    region: str


class TargetMessage(NamedTuple):
    """The message for `queue.dispatch_schedule`, as JSON, and the topic whose signature version the message has."""

    data: bytes
    topic: str | None = None


def build_target_messages(
    drafts: Sequence[Draft | None], environment: Environment
) -> Operation[list[TargetMessage | None]]:
    """Returns a message for each draft. A message that a target would refuse has the error, which SQL raises for its
    schedule alone."""
    messages: list[TargetMessage | None] = []
    for draft in drafts:
        try:
            messages.append(None if draft is None else (yield from _build(draft, environment)))
        except (AwsError, EntryError, UniversalTargetInvalid, UnicodeError) as error:
            messages.append(TargetMessage(_json.encode(describe_error(error))))
    return messages


def describe_error(error: Exception) -> JsonObject:
    """Returns the error for SQL. Its text can quote characters that the database cannot store."""
    text, code = str(error), "ValidationException"
    if isinstance(error, AwsError):
        text, code = error.message, error.query_code
    text = text.encode("utf-8", "replace").decode()
    return {"error": text.replace("\0", "\N{REPLACEMENT CHARACTER}"), "code": code}


def _build(draft: Draft, environment: Environment) -> Operation[TargetMessage]:
    arn = str(draft.target["Arn"])
    topic = parse_topic_arn(arn)
    if topic is not None:
        data = yield from build_topic_message(topic, build_text_message(draft.text), environment)
        return TargetMessage(data, arn)
    if is_bus_arn(arn):
        target = msgspec.convert(draft.target, Target)
        event = build_bus_event(target, draft.text, build_publisher_context(draft, environment))
        return TargetMessage(_json.encode({"event": event}))
    return (yield from _build_universal(draft, environment))


def _build_universal(draft: Draft, environment: Environment) -> Operation[TargetMessage]:
    """Builds the message of a call. The worker `deliver` reads the payload for a function from the input."""
    context = build_publisher_context(draft, environment)
    call = read_call(read_action(str(draft.target["Arn"])), draft.text, context)
    if isinstance(call.request, SendMessageRequest):
        message = build_message(call.request, call.arn)
        check_message_size(message.stored.size_bytes)
        return TargetMessage(_json.encode({"entry": describe_entry(message.stored)}))
    topic = parse_topic_arn(call.arn)
    if topic is None or not isinstance(call.request, PublishRequest):
        return TargetMessage(_json.encode({"function": call.arn}))
    check_attribute_types([("", call.request.message_attributes)])
    published = yield from check_message(call.request, topic)
    return TargetMessage((yield from build_topic_message(topic, published, environment)), call.arn)


def describe_entry(entry: SendEntry) -> JsonObject:
    """Returns a message for a queue by the names of SendEntry."""
    members = {**entry._asdict(), "message_id": None, "body": entry.body.decode()}
    for name in ("attributes", "system"):
        if members[name] is not None:
            members[name] = msgspec.Raw(members[name])
    return {name: value for name, value in members.items() if value is not None}


def build_text_message(text: str) -> OutgoingMessage:
    """Returns the message of a templated target, which has only a text."""
    return OutgoingMessage(
        as_text(build_message_id()), {DEFAULT_TEXT: text}, {}, 0, len(text.encode()), None, None, None
    )


def build_topic_message(topic: TopicArn, message: OutgoingMessage, environment: Environment) -> Operation[bytes]:
    """Encodes a message for `queue.dispatch_schedule`, with envelopes as for Publish. Signs them with the cached
    signature version. If the version has changed, the database raises QU007."""
    version = environment.cache(TopicCache).signature_version(str(topic))
    contents = yield from build_contents(topic, message, version, build_publisher_context(topic, environment))
    publication, is_judged = encode_publication(message, contents, message.size, None)
    yield from report_unjudged("publish", str(topic), not is_judged)
    return _json.encode({"topic": str(topic), "version": version, "publication": msgspec.Raw(publication)})
