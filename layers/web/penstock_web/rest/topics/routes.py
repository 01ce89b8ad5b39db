"""/v1/topics: topics, messages to them, and their subscriptions."""

from typing import Annotated

import msgspec
from fastapi import APIRouter, Path, Response

from penstock.sns import topics
from penstock.sns.types import DeleteTopicRequest
from penstock_web.rest.documents import MAX_ONE_BYTES, decode_document
from penstock_web.rest.openapi import json_answers, request_body_schema
from penstock_web.rest.rest_route import RestRoute, Runner, json_response

from . import operations
from .documents import (
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

router = APIRouter(prefix="/topics", tags=["topics"], route_class=RestRoute)

SubscriptionId = Annotated[
    str, Path(pattern="^[0-9a-f-]{36}$", description="the end of the subscription's ARN")
]

_topic = msgspec.json.Decoder(NewTopic)
_message = msgspec.json.Decoder(NewTopicMessage)
_subscription = msgspec.json.Decoder(NewTopicSubscription)


@router.post(
    "", status_code=201, openapi_extra=request_body_schema(NewTopic), response_class=Response,
    responses=json_answers(ShownTopic, statuses=(201,)),
)  # fmt: skip
async def create_topic(runner: Runner) -> Response:
    """Make a topic. It is no error if there is one with the same attributes and tags."""
    new = await runner.read(lambda body: decode_document(_topic, body))
    made = await runner.run(operations.create(new, runner.context))
    response = json_response(made, 201)
    response.headers["location"] = f"/v1/topics/{made.name}"
    return response


@router.get("", response_class=Response, responses=json_answers(TopicList))
async def list_topics(runner: Runner, next: str | None = None) -> Response:  # noqa: A002
    """Topics by name, 100 a page; `next` of one page asks for the following one."""
    return json_response(await runner.run(operations.list_topics(next, runner.context)))


@router.get("/{topic}", response_class=Response, responses=json_answers(DescribedTopic))
async def describe_topic(topic: str, runner: Runner) -> Response:
    """A topic, its attributes and tags."""
    return json_response(await runner.run(operations.describe(topic, runner.context)))


@router.delete("/{topic}", status_code=204)
async def delete_topic(topic: str, runner: Runner) -> None:
    """Delete a topic and its subscriptions. It is no error if there is none of this name."""
    arn = operations.arn_of(topic, runner.context)
    await runner.run(topics.delete_topic(DeleteTopicRequest(arn), runner.context))


@router.post(
    "/{topic}/messages", status_code=201, openapi_extra=request_body_schema(NewTopicMessage),
    response_class=Response, responses=json_answers(PublishedMessage, statuses=(201,)),
)  # fmt: skip
async def publish_message(topic: str, runner: Runner) -> Response:
    """Publish a message to every subscription whose filter it passes."""
    new = await runner.read(lambda body: decode_document(_message, body, MAX_ONE_BYTES))
    return json_response(await runner.run(operations.publish(topic, new, runner.context)), 201)


@router.get("/{topic}/subscriptions", response_class=Response, responses=json_answers(TopicSubscriptionList))
async def list_topic_subscriptions(
    topic: str,
    runner: Runner,
    next: str | None = None,  # noqa: A002
) -> Response:
    """Subscriptions, 100 a page; `next` of one page asks for the following one."""
    return json_response(await runner.run(operations.list_subscriptions(topic, next, runner.context)))


@router.post(
    "/{topic}/subscriptions", status_code=201, openapi_extra=request_body_schema(NewTopicSubscription),
    response_class=Response, responses=json_answers(MadeSubscription, statuses=(201,)),
)  # fmt: skip
async def subscribe_to_topic(topic: str, runner: Runner) -> Response:
    """Subscribe a queue, or a URL, which gets a message with which it confirms."""
    new = await runner.read(lambda body: decode_document(_subscription, body))
    return json_response(await runner.run(operations.subscribe(topic, new, runner.context)), 201)


@router.delete("/{topic}/subscriptions/{id}", status_code=204)
async def unsubscribe_from_topic(topic: str, id: SubscriptionId, runner: Runner) -> None:  # noqa: A002
    """End a subscription. It is no error if there is none of this id."""
    await runner.run(operations.unsubscribe(topic, id, runner.context))
