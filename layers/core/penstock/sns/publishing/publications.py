"""Converts a topic's messages to the database's format, with envelopes and the facts for filter policies.

A process caches the database's last response for each topic: the signature version, and whether any subscription needs
envelopes. Raw delivery to queues needs no envelopes, and a signature takes half of the time of a Publish. The call
that publishes compares both values with the database, so a stale entry only costs a second call.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from typing import Protocol

import msgspec

from penstock.aws.sns_arn import TopicArn
from penstock.context import Context
from penstock.effects import Operation, compute
from penstock.environment import Environment
from penstock.http import HttpRequest
from penstock.postgres.statements.sns.topics import PublishEntry
from penstock.sns import notification
from penstock.sns.envelopes import build_signing_context
from penstock.sns.filter_policy.facts import UNJUDGED, attribute_facts, encode_body_facts
from penstock.sns.filter_policy.unjudged import report_unjudged
from penstock.sqs.types import MessageAttributeValue

from .outgoing_message import DEFAULT_TEXT, OutgoingMessage

MAX_TOPICS = 4096

NO_ENVELOPE = "none"
"""Replaces the signature version if every subscription is a queue with raw delivery. Raw delivery needs no envelope."""

MAX_RAW_ATTRIBUTES = 10  # raw delivery of more attributes fails; a dead-letter queue then receives the envelope

ENVELOPED = frozenset((DEFAULT_TEXT, "sqs", "http", "https", "email-json", "lambda", "firehose"))
"""The protocols whose messages have envelopes. Phones, mobile apps and e-mail addresses receive only the text."""

Attributes = Mapping[str, MessageAttributeValue]
Contents = dict[str, dict[str, str]]

_json = msgspec.json.Encoder()


# --- signature versions ----------------------------------------------------------------------------------------------
class TopicCache:
    """The database's last responses about topics. `Environment.cache` has one TopicCache for the process."""

    __slots__ = ("_versions", "_without_envelope")

    def __init__(self) -> None:
        self._versions: dict[str, str] = {}
        self._without_envelope: set[str] = set()

    def signature_version(self, topic: str) -> str:
        """Returns the topic's signature version from this process's cache, or AWS's default, 1."""
        return self._versions.get(topic, "1")

    def learn_signature_version(self, topic: str, version: str) -> str:
        """Caches the version from the database's response. A version means that a subscription needs envelopes."""
        if len(self._versions) >= MAX_TOPICS:
            self._versions.clear()
        self._versions[topic] = version
        self._without_envelope.discard(topic)
        return version

    def learn_no_envelope(self, topic: str) -> None:
        """Caches that no subscription needs envelopes."""
        if len(self._without_envelope) >= MAX_TOPICS:
            self._without_envelope.clear()
        self._without_envelope.add(topic)

    def choose_version_for(self, topic: str, messages: Iterable[OutgoingMessage]) -> str:
        """Returns the topic's cached signature version for these messages, or NO_ENVELOPE."""
        if topic in self._without_envelope and all(
            len(message.attributes) <= MAX_RAW_ATTRIBUTES for message in messages
        ):
            return NO_ENVELOPE
        return self.signature_version(topic)


# --- publications ----------------------------------------------------------------------------------------------------
class Publication(msgspec.Struct, omit_defaults=True):
    """A message to publish, in the format of `queue.publish_messages`.

    `contents` has an entry for each protocol (`*` for the others). An entry has the plain text as `raw`, and the parts
    of its envelope as `head`, `tail` and `opening` (`notification.EnvelopeParts`). `facts` maps each filter policy
    scope (MessageAttributes, MessageBody) to the values that filter policies compare. `trace` is the request's trace
    header. `request_bytes` is the size of all messages and attributes of the request. The topic limits this size. SQL
    adds the `sequence_number` of a new message; a replayed message has one.
    """

    message_id: str
    contents: Mapping[str, Mapping[str, str]]
    facts: Mapping[str, object]
    attribute_bytes: int
    request_bytes: int
    attributes: Attributes | None = None
    group_id: str | None = None
    deduplication_id: str | None = None
    subject: str | None = None
    trace: str | None = None
    sequence_number: int | None = None


def encode_publications(
    topic: TopicArn, messages: Sequence[OutgoingMessage], version: str, size: int, context: Context
) -> Operation[list[PublishEntry]]:
    """Converts a request's messages to the database's format. `size` is the size of all messages and attributes in
    bytes.
    """
    entries, unjudged = [], 0
    for message in messages:
        contents = yield from build_contents(topic, message, version, context)
        encode = partial(encode_publication, message, contents, size, context.trace_header)
        encoded, is_judged = yield from compute(encode, message.size)
        entries.append(PublishEntry(encoded))
        unjudged += not is_judged
    yield from report_unjudged("publish", str(topic), unjudged)
    return entries


class Owned(Protocol):
    """An ARN, or anything else that belongs to an account in a region."""

    @property
    def account_id(self) -> str: ...

    @property
    def region(self) -> str: ...


def build_publisher_context(owned: Owned, environment: Environment) -> Context:
    """Returns the context of a publisher in the account and region of a topic or another resource.

    Links start with QUEUE_BASE_URL, or with the address on which this process listens if QUEUE_BASE_URL is empty.
    """
    authority = environment.settings.local_authority
    request = HttpRequest("POST", "/", b"", {b"host": authority.encode()}, b"")
    return Context(owned.account_id, owned.region, "", environment, request)


def build_contents(topic: TopicArn, message: OutgoingMessage, version: str, context: Context) -> Operation[Contents]:
    """Returns, by protocol, the text and the parts of its envelope, if the protocol has envelopes."""
    if version == NO_ENVELOPE:
        return {protocol: {"raw": text} for protocol, text in message.texts.items()}
    envelope: Callable[[str, str, str, str | None, str, Attributes], notification.EnvelopeParts]
    if topic.fifo:
        envelope = partial(notification.build_fifo_notification, context.link_base_url)
    else:
        envelope = partial(notification.build_notification, (yield from build_signing_context(version, context)))
    contents: Contents = {}
    at = notification.format_timestamp()
    for protocol, text in message.texts.items():
        contents[protocol] = {"raw": text}
        if protocol in ENVELOPED:
            parts = envelope(str(topic), message.message_id, text, message.subject, at, message.attributes)
            contents[protocol] |= parts._asdict()
    return contents


def encode_publication(
    message: OutgoingMessage, contents: Contents, request_bytes: int, trace: str | None
) -> tuple[bytes, bool]:
    """Returns the message as JSON, with texts and envelopes by protocol, and its facts for filter policies. Also
    returns whether policies on the body can judge the message."""
    facts, is_judged = build_facts(message.attributes, message.texts.get("sqs", message.texts[DEFAULT_TEXT]))
    encoded = _json.encode(
        Publication(
            message_id=message.message_id,
            contents=contents,
            attributes=message.attributes or None,
            attribute_bytes=message.attribute_bytes,
            facts=facts,
            group_id=message.group_id,
            deduplication_id=message.deduplication_id,
            subject=message.subject,
            trace=trace,
            request_bytes=request_bytes,
        )
    )
    return encoded, is_judged


def build_facts(attributes: Attributes, text: str) -> tuple[dict[str, object], bool]:
    """Returns the values that filter policies compare, by scope, and whether policies on the body can judge the
    message."""
    facts: dict[str, object] = {"MessageAttributes": attribute_facts(attributes)}
    of_body = encode_body_facts(text)
    if of_body is not None:
        facts["MessageBody"] = msgspec.Raw(of_body)
    return facts, of_body != UNJUDGED
