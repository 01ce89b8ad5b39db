"""Serves /v1/topics: topics, messages and subscriptions."""

from typing import Annotated

from fastapi import Path, Response

from penstock.documents.decoding import MAX_ONE_BYTES, build_reader
from penstock.management import topics
from penstock.management.rights import right_of
from penstock.management.topics import (
    DescribedTopic,
    MadeSubscription,
    NewTopic,
    NewTopicMessage,
    NewTopicSubscription,
    PublishedMessage,
    ShownTopic,
    TopicList,
    TopicSubscriptionList,
)
from penstock.sns.errors import (
    FilterPolicyLimitExceeded,
    NotFound,
    SubscriptionLimitExceeded,
    Throttled,
    TopicLimitExceeded,
)
from penstock_web.routing.routes import Routes, Runner, json_response

routes = Routes("topics", prefix="/topics")

SubscriptionId = Annotated[str, Path(pattern="^[0-9a-f-]{36}$", description="the end of the subscription's ARN")]

_read_topic = build_reader(NewTopic)
_read_message = build_reader(NewTopicMessage, MAX_ONE_BYTES)
_read_subscription = build_reader(NewTopicSubscription)


@routes.post(
    "",
    right=right_of(topics.create_topic),
    status=201,
    body=NewTopic,
    response=ShownTopic,
    raises=(TopicLimitExceeded,),
)
async def create_topic(runner: Runner) -> Response:
    """Create a topic. A second request with the same attributes and tags also succeeds."""
    new = await runner.read(_read_topic)
    made = await runner.run(topics.create_topic(new, runner.context))
    return json_response(made, 201, f"/v1/topics/{made.name}")


@routes.get("", right=right_of(topics.list_topics), response=TopicList)
async def list_topics(runner: Runner, next: str | None = None) -> TopicList:  # noqa: A002
    """List topics by name, 100 on each page. `next` is the value of `next` from the previous page."""
    return await runner.run(topics.list_topics(next, runner.context))


@routes.get("/{topic}", right=right_of(topics.describe_topic), response=DescribedTopic, raises=(NotFound,))
async def describe_topic(topic: str, runner: Runner) -> DescribedTopic:
    """Describe a topic, its attributes and its tags."""
    return await runner.run(topics.describe_topic(topic, runner.context))


@routes.delete("/{topic}", right=right_of(topics.delete_topic), status=204)
async def delete_topic(topic: str, runner: Runner) -> None:
    """Delete a topic and its subscriptions. Deleting a missing topic succeeds."""
    await runner.run(topics.delete_topic(topic, runner.context))


@routes.post(
    "/{topic}/messages",
    right=right_of(topics.publish_message),
    status=201,
    body=NewTopicMessage,
    response=PublishedMessage,
    raises=(NotFound, Throttled),
)
async def publish_message(topic: str, runner: Runner) -> PublishedMessage:
    """Publish a message to every subscription whose filter policy the message matches."""
    new = await runner.read(_read_message)
    return await runner.run(topics.publish_message(topic, new, runner.context))


@routes.get(
    "/{topic}/subscriptions",
    right=right_of(topics.list_subscriptions),
    response=TopicSubscriptionList,
    raises=(NotFound,),
)
async def list_topic_subscriptions(
    topic: str,
    runner: Runner,
    next: str | None = None,  # noqa: A002
) -> TopicSubscriptionList:
    """List a topic's subscriptions, 100 on each page. `next` is the value of `next` from the previous page."""
    return await runner.run(topics.list_subscriptions(topic, next, runner.context))


@routes.post(
    "/{topic}/subscriptions",
    right=right_of(topics.subscribe),
    status=201,
    body=NewTopicSubscription,
    response=MadeSubscription,
    raises=(NotFound, FilterPolicyLimitExceeded, SubscriptionLimitExceeded),
)
async def subscribe_to_topic(topic: str, runner: Runner) -> MadeSubscription:
    """Subscribe a queue or a URL. The service sends the URL a message that contains the token for the confirmation."""
    new = await runner.read(_read_subscription)
    return await runner.run(topics.subscribe(topic, new, runner.context))


@routes.delete("/{topic}/subscriptions/{id}", right=right_of(topics.unsubscribe), status=204)
async def unsubscribe_from_topic(topic: str, id: SubscriptionId, runner: Runner) -> None:  # noqa: A002
    """End a subscription. Deleting a missing subscription succeeds."""
    await runner.run(topics.unsubscribe(topic, id, runner.context))
