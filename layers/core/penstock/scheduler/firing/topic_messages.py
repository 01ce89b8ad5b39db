"""Builds the messages that schedules send to SNS topics, with signed envelopes as for Publish. One SQL call sends the
messages."""

from collections.abc import Sequence
from typing import NamedTuple

import msgspec

from penstock.aws.message_id import as_text, build_message_id
from penstock.aws.sns_arn import TopicArn, parse_topic_arn
from penstock.effects import Operation
from penstock.environment import Environment
from penstock.sns.filter_policy.unjudged import report_unjudged
from penstock.sns.publishing.outgoing_message import DEFAULT_TEXT, OutgoingMessage
from penstock.sns.publishing.publications import (
    TopicCache,
    build_contents,
    build_publisher_context,
    encode_publication,
)

_json = msgspec.json.Encoder()


class TopicDraft(NamedTuple):
    """A message to the topic with this ARN."""

    topic: str
    text: str


def sign_drafts(drafts: Sequence[TopicDraft | None], environment: Environment) -> Operation[list[bytes | None]]:
    """Returns the topic messages that `queue.fire_schedules` takes, as JSON, or None for other targets and wrong
    ARNs."""
    topic_messages: list[bytes | None] = []
    for draft in drafts:
        topic = None if draft is None else parse_topic_arn(draft.topic)
        # SQL reports an error for an ARN of another kind, because no topic has such an ARN.
        if draft is None or topic is None:
            topic_messages.append(None)
        else:
            topic_messages.append((yield from build_topic_message(topic, draft.text, environment)))
    return topic_messages


def build_topic_message(topic: TopicArn, text: str, environment: Environment) -> Operation[bytes]:
    """Builds one message, and signs it with the cached signature version. If the version has changed, the database
    raises QU007."""
    version = environment.cache(TopicCache).signature_version(str(topic))
    size, message_id = len(text.encode()), as_text(build_message_id())
    message = OutgoingMessage(message_id, {DEFAULT_TEXT: text}, {}, 0, size, None, None, None)
    contents = yield from build_contents(topic, message, version, build_publisher_context(topic, environment))
    publication, is_judged = encode_publication(message, contents, size, None)
    yield from report_unjudged("publish", str(topic), not is_judged)
    return _json.encode({"version": version, "publication": msgspec.Raw(publication)})
