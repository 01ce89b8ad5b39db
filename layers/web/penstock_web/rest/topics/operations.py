"""Operations of /v1/topics: those of SNS, with the names and documents of the REST API."""

import msgspec

from penstock import errors
from penstock.aws.sns_arn import TopicArn
from penstock.context import Context
from penstock.effects import Operation
from penstock.sns import publish as publishing
from penstock.sns import subscriptions as subscribing
from penstock.sns import topics
from penstock.sns import types as sns
from penstock.sqs import validation
from penstock_web.rest.documents import compact, to_attribute
from penstock_web.rest.operations import arn_of as queue_arn_of

from .documents import (
    DescribedTopic,
    MadeSubscription,
    NewTopic,
    NewTopicMessage,
    NewTopicSubscription,
    PublishedMessage,
    ShownTopic,
    ShownTopicSubscription,
    TopicList,
    TopicSubscriptionList,
)

_json = msgspec.json.Encoder()


def arn_of(name: str, context: Context) -> str:
    """The ARN of a topic of the caller's account."""
    return str(TopicArn(context.region, context.account_id, name))


def create(new: NewTopic, context: Context) -> Operation[ShownTopic]:
    """Makes a topic, or finds an existing one that has every supplied attribute and tag."""
    fifo = {"FifoTopic": "true"} if new.name.endswith(".fifo") else {}
    made = yield from topics.create_topic(
        sns.CreateTopicRequest(
            new.name, {**new.attributes, **fifo}, [sns.Tag(key, value) for key, value in new.tags.items()]
        ),
        context,
    )
    return ShownTopic(new.name, made.topic_arn or "")


def list_topics(after: str | None, context: Context) -> Operation[TopicList]:
    """A page of the account's topics."""
    page = yield from topics.list_topics(sns.ListTopicsRequest(after), context)
    return TopicList(
        [ShownTopic(name_of(one.topic_arn), one.topic_arn) for one in page.topics], page.next_token
    )


def describe(name: str, context: Context) -> Operation[DescribedTopic]:
    """A topic. Raises NotFound."""
    arn = arn_of(name, context)
    found = yield from topics.get_topic_attributes(sns.GetTopicAttributesRequest(arn), context)
    tagged = yield from topics.list_tags_for_resource(sns.ListTagsForResourceRequest(arn), context)
    return DescribedTopic(name, arn, found.attributes or {}, {tag.key: tag.value for tag in tagged.tags})


def publish(name: str, new: NewTopicMessage, context: Context) -> Operation[PublishedMessage]:
    """Publishes a message. Raises NotFound and what SNS refuses."""
    validation.check_number_of_attributes(len(new.headers))
    attributes = {key: to_attribute(value) for key, value in new.headers.items()}
    request = sns.PublishRequest(
        text_of(new.message),
        arn_of(name, context),
        subject=new.subject,
        message_attributes={
            key: sns.MessageAttributeValue(value.data_type, value.string_value)
            for key, value in attributes.items()
        }
        or None,
        message_deduplication_id=new.dedup_id,
        message_group_id=new.group_id,
    )
    published = yield from publishing.publish(request, context)
    return PublishedMessage(published.message_id or "", published.sequence_number)


def text_of(raw: msgspec.Raw) -> str:
    """A JSON string's text; any other JSON without blanks."""
    text = compact(raw)
    return msgspec.json.decode(text, type=str) if text.startswith('"') else text


def subscribe(name: str, new: NewTopicSubscription, context: Context) -> Operation[MadeSubscription]:
    """Subscribes a queue or a URL. Raises InvalidParameterValue, NotFound and what SNS refuses."""
    if (new.queue is None) == (new.url is None):
        raise errors.InvalidParameterValue("body: either queue or url")
    attributes = {}
    if new.filter is not None:
        scope = "MessageBody" if new.filter_on == "body" else "MessageAttributes"
        attributes = {"FilterPolicy": _json.encode(new.filter).decode(), "FilterPolicyScope": scope}
    if new.raw:
        attributes["RawMessageDelivery"] = "true"
    if new.dead_letters is not None:
        target = {"deadLetterTargetArn": _queue(new.dead_letters, context)}
        attributes["RedrivePolicy"] = _json.encode(target).decode()
    if new.queue is not None:
        protocol, endpoint = "sqs", _queue(new.queue, context)
    else:
        protocol, endpoint = (new.url or "").partition(":")[0], new.url or ""
    made = yield from subscribing.subscribe(
        sns.SubscribeRequest(arn_of(name, context), protocol, endpoint, attributes), context
    )
    arn = made.subscription_arn
    return MadeSubscription(None if arn == subscribing.PENDING else arn)


def list_subscriptions(
    name: str | None, after: str | None, context: Context
) -> Operation[TopicSubscriptionList]:
    """A page of the subscriptions of a topic, or (None) of the account. Raises NotFound."""
    page: sns.ListSubscriptionsResult
    if name is None:
        page = yield from subscribing.list_subscriptions(sns.ListSubscriptionsRequest(after), context)
    else:
        wanted = sns.ListSubscriptionsByTopicRequest(arn_of(name, context), after)
        page = yield from subscribing.list_subscriptions_by_topic(wanted, context)
    shown = [
        ShownTopicSubscription(
            None if one.subscription_arn == subscribing.PENDING_IN_LISTS else one.subscription_arn,
            name_of(one.topic_arn), one.protocol, one.endpoint, one.owner,
        )
        for one in page.subscriptions
    ]  # fmt: skip
    return TopicSubscriptionList(shown, page.next_token)


def unsubscribe(name: str, subscription: str, context: Context) -> Operation[None]:
    """Ends a subscription of a topic; it is no error if there is none."""
    arn = f"{arn_of(name, context)}:{subscription}"
    yield from subscribing.unsubscribe(sns.UnsubscribeRequest(arn), context)


def name_of(arn: str) -> str:
    """The name of a topic."""
    return arn.rpartition(":")[2]


def _queue(given: str, context: Context) -> str:
    return given if given.startswith("arn:") else queue_arn_of(given, context)
