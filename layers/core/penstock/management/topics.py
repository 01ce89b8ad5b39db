"""Topics and their subscriptions: SNS's operations, with names instead of ARNs."""

from collections.abc import Sequence
from typing import Annotated, Final, Literal, NamedTuple

import msgspec

from penstock import errors
from penstock.access.audit.acts import Act, audited
from penstock.access.authorization import check_user
from penstock.access.resources import build_arn
from penstock.aws.fifo_name import is_fifo_name
from penstock.aws.sns_arn import is_topic_name
from penstock.context import Context
from penstock.documents.queue_names import build_queue_arn as queue_arn_of
from penstock.effects import Call, Operation
from penstock.postgres.statements.deliveries import LIST_FAILED_ENDPOINTS
from penstock.postgres.statements.sns.topics import (
    DESCRIBE_TOPIC,
    READ_TOPIC_PAGE,
    READ_TOPIC_SUBSCRIPTIONS,
    TopicPageRow,
    TopicRow,
    TopicSubscriptionRow,
)
from penstock.sns import subscriptions as subscribing
from penstock.sns import topics
from penstock.sns import types as sns
from penstock.sns.publishing import publish as publishing
from penstock.sqs import validation

from .attention.concerns import FAILING_SECONDS, MAX_COUNTED, Concern, describe_endpoint
from .attention.reading import rank_harm
from .messages.conversion import format_compact, to_attribute
from .rights import build_topic_arn, needs
from .verdicts import LEVELS

MAX_ENDPOINTS: Final = 100
Raw = msgspec.Raw
Text = Annotated[str, msgspec.Meta(min_length=1, max_length=2_048)]
Name = Annotated[str, msgspec.Meta(min_length=1, max_length=256)]


class NewTopic(msgspec.Struct, forbid_unknown_fields=True):
    """A topic to create. A name that ends in `.fifo` creates a FIFO topic. `attributes` have SNS's names."""

    name: Name
    attributes: dict[str, str] = {}
    tags: dict[str, str] = {}


class ShownTopic(msgspec.Struct):
    """A topic."""

    name: str
    arn: str


class DescribedTopic(ShownTopic):
    """A topic with all attributes that SNS shows, and its tags."""

    attributes: dict[str, str]
    tags: dict[str, str]


class TopicList(msgspec.Struct, omit_defaults=True):
    """Topics in the order of their names, up to 100 on a page. `next` requests the next page."""

    topics: list[ShownTopic]
    next: str | None = None


class NewTopicMessage(msgspec.Struct, forbid_unknown_fields=True):
    """A message to publish: a text or any JSON. JSON is published unchanged, except for blanks.

    `headers` become message attributes. Texts and numbers keep their type; any other value becomes a String of JSON.
    """

    message: Raw
    subject: str | None = None
    headers: dict[str, Raw] = {}
    group_id: str | None = None
    dedup_id: str | None = None


class PublishedMessage(msgspec.Struct, omit_defaults=True):
    """SNS's response. A message of a FIFO topic has a `sequence_number`."""

    message_id: str
    sequence_number: str | None = None


class NewTopicSubscription(msgspec.Struct, forbid_unknown_fields=True):
    """A subscription to create for a `queue` (a queue name in the account, or an ARN) or a `url`. A URL must confirm
    the subscription.

    `filter` is a filter policy for the message's attributes or body. `raw` omits the envelope. The queue `dead_letters`
    receives the messages that a URL does not accept.
    """

    queue: Text | None = None
    url: Text | None = None
    filter: dict[str, Raw] | None = None
    filter_on: Literal["attributes", "body"] = "attributes"
    raw: bool = False
    dead_letters: Text | None = None


class ShownTopicSubscription(msgspec.Struct):
    """A subscription. `arn` is null until the endpoint has confirmed the subscription."""

    arn: str | None
    topic: str
    protocol: str
    endpoint: str
    owner: str


class TopicSubscriptionList(msgspec.Struct, omit_defaults=True):
    """Subscriptions, up to 100 on a page. `next` requests the next page."""

    subscriptions: list[ShownTopicSubscription]
    next: str | None = None


class MadeSubscription(msgspec.Struct):
    """A new subscription. `arn` is null until the endpoint has confirmed the subscription."""

    arn: str | None


_json = msgspec.json.Encoder()


@needs("operation", "sns:CreateTopic")
def create_topic(new: NewTopic, context: Context) -> Operation[ShownTopic]:
    """Creates a topic, or returns an existing topic that has every given attribute and tag. Raises AccessDenied."""
    check_user("sns", "CreateTopic", build_arn("sns", new.name, context), context)
    fifo = {"FifoTopic": "true"} if is_fifo_name(new.name) else {}
    made = yield from topics.create_topic(
        sns.CreateTopicRequest(
            new.name, {**new.attributes, **fifo}, [sns.Tag(key, value) for key, value in new.tags.items()]
        ),
        context,
    )
    return ShownTopic(new.name, made.topic_arn or "")


@needs("account", "sns:ListTopics")
def list_topics(after: str | None, context: Context) -> Operation[TopicList]:
    """Returns a page of the account's topics."""
    page = yield from topics.list_topics(sns.ListTopicsRequest(after), context)
    return TopicList(
        [ShownTopic(parse_name(topic.topic_arn), topic.topic_arn) for topic in page.topics], page.next_token
    )


@needs("topic", "sns:GetTopicAttributes", "sns:ListTagsForResource")
def describe_topic(name: str, context: Context) -> Operation[DescribedTopic]:
    """Returns a topic. Raises NotFound."""
    arn = build_topic_arn(name, context)
    found = yield from topics.get_topic_attributes(sns.GetTopicAttributesRequest(arn), context)
    tagged = yield from topics.list_tags_for_resource(sns.ListTagsForResourceRequest(arn), context)
    return DescribedTopic(name, arn, found.attributes or {}, {tag.key: tag.value for tag in tagged.tags})


@needs("topic", "sns:Publish")
def publish_message(name: str, new: NewTopicMessage, context: Context) -> Operation[PublishedMessage]:
    """Publishes a message. Raises NotFound and SNS's errors."""
    validation.check_number_of_attributes(len(new.headers))
    attributes = {key: to_attribute(value) for key, value in new.headers.items()}
    request = sns.PublishRequest(
        read_text(new.message),
        build_topic_arn(name, context),
        subject=new.subject,
        message_attributes={
            key: sns.MessageAttributeValue(value.data_type, value.string_value) for key, value in attributes.items()
        }
        or None,
        message_deduplication_id=new.dedup_id,
        message_group_id=new.group_id,
    )
    published = yield from publishing.publish(request, context)
    return PublishedMessage(published.message_id or "", published.sequence_number)


@needs("topic", "sns:Publish")
@audited(lambda name, _request, context: Act("sns:Publish", build_topic_arn(name, context)))
def publish_written(name: str, request: sns.PublishRequest, context: Context) -> Operation[None]:
    """Publishes a message that a person wrote. The audit log records the message. Raises NotFound and SNS's errors."""
    request.topic_arn = build_topic_arn(name, context)
    yield from publishing.publish(request, context)


def read_text(raw: msgspec.Raw) -> str:
    """Returns the text of a JSON string, or any other JSON without blanks."""
    text = format_compact(raw)
    return msgspec.json.decode(text, type=str) if text.startswith('"') else text


@needs("topic", "sns:Subscribe")
def subscribe(name: str, new: NewTopicSubscription, context: Context) -> Operation[MadeSubscription]:
    """Subscribes a queue or a URL. Raises InvalidParameterValue, NotFound and SNS's errors."""
    if (new.queue is None) == (new.url is None):
        raise errors.InvalidParameterValue("body: either queue or url")
    attributes = {}
    if new.filter is not None:
        scope = "MessageBody" if new.filter_on == "body" else "MessageAttributes"
        attributes = {"FilterPolicy": _json.encode(new.filter).decode(), "FilterPolicyScope": scope}
    if new.raw:
        attributes["RawMessageDelivery"] = "true"
    if new.dead_letters is not None:
        target = {"deadLetterTargetArn": _name_queue(new.dead_letters, context)}
        attributes["RedrivePolicy"] = _json.encode(target).decode()
    if new.queue is not None:
        protocol, endpoint = "sqs", _name_queue(new.queue, context)
    else:
        protocol, endpoint = (new.url or "").partition(":")[0], new.url or ""
    made = yield from subscribing.subscribe(
        sns.SubscribeRequest(build_topic_arn(name, context), protocol, endpoint, attributes), context
    )
    arn = made.subscription_arn
    return MadeSubscription(None if arn == subscribing.PENDING else arn)


@needs("topic", "sns:ListSubscriptionsByTopic")
def list_subscriptions(name: str, after: str | None, context: Context) -> Operation[TopicSubscriptionList]:
    """Returns a page of the subscriptions of a topic. Raises NotFound."""
    wanted = sns.ListSubscriptionsByTopicRequest(build_topic_arn(name, context), after)
    page = yield from subscribing.list_subscriptions_by_topic(wanted, context)
    shown = [
        ShownTopicSubscription(
            None if subscription.subscription_arn == subscribing.PENDING_IN_LISTS else subscription.subscription_arn,
            parse_name(subscription.topic_arn), subscription.protocol, subscription.endpoint, subscription.owner,
        )
        for subscription in page.subscriptions
    ]  # fmt: skip
    return TopicSubscriptionList(shown, page.next_token)


@needs("topic", "sns:DeleteTopic")
def delete_topic(name: str, context: Context) -> Operation[None]:
    """Deletes a topic and its subscriptions. A missing topic is ignored."""
    yield from topics.delete_topic(sns.DeleteTopicRequest(build_topic_arn(name, context)), context)


@needs("subscription", "sns:Unsubscribe")
def unsubscribe(name: str, subscription: str, context: Context) -> Operation[None]:
    """Deletes a subscription of a topic. A missing subscription is ignored."""
    arn = f"{build_topic_arn(name, context)}:{subscription}"
    yield from subscribing.unsubscribe(sns.UnsubscribeRequest(arn), context)


class ExpandedTopic(NamedTuple):
    """A topic with a page of its subscriptions."""

    topic: TopicRow
    subscriptions: list[TopicSubscriptionRow]


Facts = tuple[str | None, str | None]
"""What filter policies compare, as JSON: facts about a message's attributes, and facts about its body."""


@needs("account", "sns:ListTopics")
def read_topic_page(
    search: str, skip: int, limit: int, endpoints: Sequence[str], context: Context
) -> Operation[list[TopicPageRow]]:
    """Returns up to `limit` topics whose names contain `search`, after the first `skip` topics. First come the topics
    that deliver to one of the endpoints, in the order of the endpoints.
    """
    place = (context.account_id, context.region)
    return (yield from Call(READ_TOPIC_PAGE, (*place, search, skip, limit, list(endpoints))))


@needs("account", "penstock:ListDeliveries")
def find_failing_endpoints(context: Context) -> Operation[dict[str, Concern]]:
    """Returns the worst concern about each of up to 100 endpoints, the worst endpoint first."""
    rows = yield from Call(LIST_FAILED_ENDPOINTS, (context.account_id, MAX_COUNTED, FAILING_SECONDS))
    found = [(row.endpoint, concern) for row in rows for concern in describe_endpoint(row)]
    found.sort(key=lambda one: (LEVELS.index(one[1].level), rank_harm(one[1])))
    worst: dict[str, Concern] = {}
    for endpoint, concern in found:
        worst.setdefault(endpoint, concern)
    return dict(list(worst.items())[:MAX_ENDPOINTS])


@needs("topic", "sns:GetTopicAttributes", "sns:ListTagsForResource", "sns:ListSubscriptionsByTopic")
def expand_topic(name: str, facts: Facts, skip: int, limit: int, context: Context) -> Operation[ExpandedTopic | None]:
    """Returns a topic with up to `limit` subscriptions after the first `skip`, or None if the topic does not exist. A
    subscription says whether its filter policy accepts the facts.
    """
    arn = build_topic_arn(name, context)
    rows = (yield from Call(DESCRIBE_TOPIC, (arn,))) if is_topic_name(name) else []
    if not rows:
        return None
    return ExpandedTopic(rows[0], (yield from Call(READ_TOPIC_SUBSCRIPTIONS, (arn, *facts, skip, limit))))


def is_topic(name: str, context: Context) -> Operation[bool]:
    """Returns whether the account has a topic of this name."""
    return is_topic_name(name) and bool((yield from Call(DESCRIBE_TOPIC, (build_topic_arn(name, context),))))


def parse_name(arn: str) -> str:
    return arn.rpartition(":")[2]


def _name_queue(given: str, context: Context) -> str:
    return given if given.startswith("arn:") else queue_arn_of(given, context)
