"""Builds the messages that schedules send to SNS topics, with signed envelopes as for Publish."""

import msgspec

from penstock.aws.message_id import as_text, build_message_id
from penstock.aws.sns_arn import TopicArn
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


def build_text_message(text: str) -> OutgoingMessage:
    """Returns the message of a templated target, which has only a text."""
    return OutgoingMessage(
        as_text(build_message_id()), {DEFAULT_TEXT: text}, {}, 0, len(text.encode()), None, None, None
    )


def build_topic_message(topic: TopicArn, message: OutgoingMessage, environment: Environment) -> Operation[bytes]:
    """Encodes one message for `queue.dispatch_schedule`, and signs it with the cached signature version. If the version
    has changed, the database raises QU007."""
    version = environment.cache(TopicCache).signature_version(str(topic))
    contents = yield from build_contents(topic, message, version, build_publisher_context(topic, environment))
    publication, is_judged = encode_publication(message, contents, message.size, None)
    yield from report_unjudged("publish", str(topic), not is_judged)
    return _json.encode({"topic": str(topic), "version": version, "publication": msgspec.Raw(publication)})
