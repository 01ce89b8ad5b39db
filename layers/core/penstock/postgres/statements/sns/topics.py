"""Topics and publishing."""

from datetime import datetime
from typing import NamedTuple

from penstock.postgres.statement import BatchStatement, Statement


class CreatedTopicRow(NamedTuple):
    """The topic, either new or existing (`created` is False).

    An error's `detail` is the difference, Attributes or Tags.
    """

    arn: str
    created: bool
    error: str | None
    detail: str | None


CREATE_TOPIC = Statement(
    "queue.create_topic",
    ("text", "text", "text", "jsonb", "jsonb", "jsonb"),
    CreatedTopicRow,
    is_audited=True,
    changed="created",
)


class DroppedTopicRow(NamedTuple):
    dropped: bool
    error: str | None


DROP_TOPIC = Statement("queue.drop_topic", ("text",), DroppedTopicRow, is_audited=True, changed="dropped")


class ListedTopicRow(NamedTuple):
    arn: str
    name: str


LIST_TOPICS = Statement("queue.list_topic_page", ("text", "text", "text", "int4"), ListedTopicRow)


class TopicRow(NamedTuple):
    """A topic. `attributes` and `tags` are JSON. `confirmed` and `pending` count its subscriptions. `archived_since_ms`
    is the time in milliseconds since 1970 from which messages can be replayed, or None without an archive."""

    attributes: str
    tags: str
    confirmed: int
    pending: int
    archived_since_ms: int | None


DESCRIBE_TOPIC = Statement("queue.describe_topic", ("text",), TopicRow)


class TopicErrorRow(NamedTuple):
    error: str | None


CHANGE_TOPIC = Statement("queue.change_topic", ("text", "jsonb"), TopicErrorRow, is_audited=True)


class ReplacedTopicPolicyRow(NamedTuple):
    """`replaced` is false if another request changed the old policy."""

    replaced: bool


REPLACE_TOPIC_POLICY = Statement(
    "queue.replace_topic_policy", ("text", "text", "text"), ReplacedTopicPolicyRow, is_audited=True, changed="replaced"
)
TAG_TOPIC = Statement("queue.tag_topic", ("text", "jsonb", "int4"), TopicErrorRow, is_audited=True)
UNTAG_TOPIC = Statement("queue.untag_topic", ("text", "text[]"), TopicErrorRow, is_audited=True)


class PublishEntry(NamedTuple):
    """A message to publish, as JSON in UTF-8: `sns.publishing.publications.Publication`."""

    publication: bytes


class PublishedRow(NamedTuple):
    """Entry `n` (from 1) was published, or refused with an error.

    `message_id` is None after an error. A duplicate has the `message_id` and `sequence_number` of the original. An
    error's `detail` is the expected value. Without an error, `detail` is `none` if no subscription needs an envelope.
    """

    n: int
    message_id: str
    sequence_number: int | None
    error: str | None
    detail: str | None


PUBLISH_MESSAGES = BatchStatement(
    "queue.publish_messages", ("jsonb[]", "text", "text"), PublishedRow, entry=PublishEntry, is_audited=True
)


# --- pages of the console --------------------------------------------------------------------------------------------
class TopicPageRow(NamedTuple):
    """A topic of a page. `confirmed` and `pending` count its subscriptions. `total` counts topics of all pages.
    `endpoint` is the worst endpoint of its subscriptions, or None if all work."""

    name: str
    arn: str
    fifo: bool
    created_at: datetime
    confirmed: int
    pending: int
    total: int
    endpoint: str | None


READ_TOPIC_PAGE = Statement("queue.read_topic_page", ("text", "text", "text", "int4", "int4", "text[]"), TopicPageRow)


class TopicSubscriptionRow(NamedTuple):
    """A topic's subscription.

    `matches` says whether the subscription would receive the message in the request, or is None if the request has no
    message.
    """

    arn: str
    owner: str
    protocol: str
    endpoint: str
    confirmed: bool
    raw: bool
    filter_policy: str | None
    filter_scope: str
    dead_letter_arn: str | None
    matches: bool | None


READ_TOPIC_SUBSCRIPTIONS = Statement(
    "queue.read_topic_subscriptions", ("text", "jsonb", "jsonb", "int4", "int4"), TopicSubscriptionRow
)
