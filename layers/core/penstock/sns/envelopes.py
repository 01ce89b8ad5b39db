"""Messages to subscribers: envelopes and confirmations, signed with the installation's key.

A process caches for each topic what the database last answered: the signature version, and whether any subscription
needs envelopes (raw delivery to queues has none, and a signature is half of what a Publish costs). The call that
publishes checks both against the database, so a stale entry costs a second call and nothing else.
"""

from collections.abc import Callable, Iterable, Mapping
from functools import partial
from uuid import uuid4

from penstock.aws.message_id import as_text
from penstock.aws.topic_arn import TopicArn
from penstock.context import Context
from penstock.effects import Operation
from penstock.sqs.types import MessageAttributeValue

from . import notification
from .outgoing_message import DEFAULT_TEXT, OutgoingMessage
from .signatures import Signer
from .signing_keys import current_signer
from .topics import describe_topic, read_stored_attributes

MOST_TOPICS = 4096
TRACE = "trace"
"""The member, beside the protocols, in which `queue.publish_messages` finds the trace header."""

NO_ENVELOPE = "none"
"""Used instead of a signature version when all subscriptions are queues with raw delivery: there is no envelope."""

MOST_RAW_ATTRIBUTES = 10  # with more, raw delivery fails, and a dead-letter queue gets the envelope

ENVELOPED = frozenset((DEFAULT_TEXT, "sqs", "http", "https", "email-json", "lambda", "firehose"))
"""Protocols whose messages have envelopes; to phones, mobile apps and readers of e-mail only the text goes."""

Attributes = Mapping[str, MessageAttributeValue]


# --- signature versions ----------------------------------------------------------------------------------------------
class TopicCache:
    """The database's last answers about topics; `Environment.cache` has one cache for the process."""

    __slots__ = ("_versions", "_without_envelope")

    def __init__(self) -> None:
        self._versions: dict[str, str] = {}
        self._without_envelope: set[str] = set()

    def signature_version(self, topic: str) -> str:
        """The topic's version, as far as this process knows; 1 is AWS's default."""
        return self._versions.get(topic, "1")

    def learn_signature_version(self, topic: str, version: str) -> str:
        """Stores the version that the database answered, which also means that a subscription needs envelopes."""
        if len(self._versions) >= MOST_TOPICS:
            self._versions.clear()
        self._versions[topic] = version
        self._without_envelope.discard(topic)
        return version

    def learn_no_envelope(self, topic: str) -> None:
        """Stores that no subscription needs envelopes."""
        if len(self._without_envelope) >= MOST_TOPICS:
            self._without_envelope.clear()
        self._without_envelope.add(topic)

    def version_for(self, topic: str, messages: Iterable[OutgoingMessage]) -> str:
        """The topic's signature version, or NO_ENVELOPE, for publishing these, as far as this process knows."""
        if topic in self._without_envelope and all(
            len(message.attributes) <= MOST_RAW_ATTRIBUTES for message in messages
        ):
            return NO_ENVELOPE
        return self.signature_version(topic)


# --- texts -----------------------------------------------------------------------------------------------------------
def certificate_url(signer: Signer, context: Context) -> str:
    """The URL of the signer's certificate: at SNS_CERT_HOST, where that is set, else at this service."""
    host = context.environment.settings.sns_cert_host
    return (f"https://{host}" if host else context.link_base_url) + signer.certificate_path


def signing_context(version: str, context: Context) -> Operation[notification.SigningContext]:
    """The signer, and the base of links."""
    key = yield from current_signer(context)
    return notification.SigningContext(key, version, context.link_base_url, certificate_url(key, context))


def envelope_contents(
    topic: TopicArn, message: OutgoingMessage, version: str, context: Context
) -> Operation[dict[str, object]]:
    """By protocol: the text itself, and the parts of its envelope, if it has one. Under `trace`: the trace header."""
    found: dict[str, object] = {} if context.trace_header is None else {TRACE: context.trace_header}
    if version == NO_ENVELOPE:
        return found | {protocol: {"raw": text} for protocol, text in message.texts.items()}
    envelope: Callable[[str, str, str, str | None, str, Attributes], notification.EnvelopeParts]
    if topic.fifo:
        envelope = partial(notification.build_fifo_notification, context.link_base_url)
    else:
        envelope = partial(notification.notification, (yield from signing_context(version, context)))
    message_id, at = as_text(message.message_id), notification.timestamp()
    for protocol, text in message.texts.items():
        if protocol not in ENVELOPED:
            found[protocol] = {"raw": text}
            continue
        parts = envelope(str(topic), message_id, text, message.subject, at, message.attributes)
        found[protocol] = {"raw": text, **parts._asdict()}
    return found


def confirmation(topic: TopicArn, token: str, context: Context) -> Operation[str]:
    """The message that asks an endpoint to confirm. Raises NotFound."""
    signing = yield from current_signing_context(topic, context)
    return notification.confirmation(signing, str(topic), str(uuid4()), token, notification.timestamp())


def unsubscribe_confirmation(
    topic: TopicArn, subscription_arn: str, token: str, context: Context
) -> Operation[str]:
    """The message that tells an endpoint that its subscription ended. Raises NotFound."""
    signing = yield from current_signing_context(topic, context)
    about = (str(topic), subscription_arn, str(uuid4()), token)
    return notification.unsubscribe_confirmation(signing, *about, notification.timestamp())


def current_signing_context(topic: TopicArn, context: Context) -> Operation[notification.SigningContext]:
    """The signing context by the topic's signature version, read from the database.

    No later call checks the version of such a message, and these messages are rare.
    """
    attributes = read_stored_attributes((yield from describe_topic(topic)))
    return (yield from signing_context(attributes.get("SignatureVersion", "1"), context))
