"""Shows topics and subscriptions, tests filter policies, and publishes messages."""

from typing import Final, NamedTuple

import msgspec
from fastapi import Response

from penstock.aws.fifo_name import is_fifo_name
from penstock.aws.sns_arn import TopicArn, is_topic_name
from penstock.context import Context
from penstock.effects import Call, Operation
from penstock.management.rights import needs, right_of
from penstock.management.topics import publish_written
from penstock.postgres.statements.sns.topics import (
    DESCRIBE_TOPIC,
    READ_TOPIC_PAGE,
    READ_TOPIC_SUBSCRIPTIONS,
    TopicPageRow,
    TopicRow,
    TopicSubscriptionRow,
)
from penstock.sns.filter_policy import facts
from penstock.sns.types import MessageAttributeValue as TopicAttribute
from penstock.sns.types import PublishRequest
from penstock.sqs.types import MessageAttributeValue
from penstock_web.console.page import CurrentPage
from penstock_web.console.paging import PAGE, count_pages, count_rows_before, read_page_number
from penstock_web.console.responses import NoSuchThing, redirect, show_page
from penstock_web.console.screen import act, screen

MAX_SEARCH_LENGTH: Final = 80
MAX_TEST_LENGTH: Final = 4_000

_json = msgspec.json.Encoder()
_texts = msgspec.json.Decoder(dict[str, str])


class SampleMessage(NamedTuple):
    """A message to test against filter policies. The page tests the message only if the message has a body or an
    attribute.
    """

    body: str
    name: str
    kind: str
    value: str

    @property
    def is_wanted(self) -> bool:
        """Returns whether a test is requested."""
        return bool(self.body or self.name)

    def facts(self) -> tuple[str | None, str | None]:
        """Returns what filter policies compare: facts about the attributes, and facts about the body."""
        if not self.is_wanted:
            return None, None
        given = {self.name: MessageAttributeValue(self.kind or "String", self.value)} if self.name else {}
        of_body = facts.encode_body_facts(self.body)
        return _json.encode(facts.attribute_facts(given)).decode(), None if of_body is None else of_body.decode()


class ExpandedTopic(NamedTuple):
    """A topic with a page of its subscriptions."""

    topic: TopicRow
    subscriptions: list[TopicSubscriptionRow]


@needs("account", "sns:ListTopics")
def read_topics(search: str, number: int, context: Context) -> Operation[list[TopicPageRow]]:
    """Returns a page of the topics whose names contain `search`."""
    place = (context.account_id, context.region)
    return (yield from Call(READ_TOPIC_PAGE, (*place, search, count_rows_before(number), PAGE)))


@screen("/console/topics", right=right_of(read_topics), title="Topics", position=30)
async def topics(page: CurrentPage) -> Response:
    """Shows topics by name."""
    search, number = page.query.get("q", "").strip()[:MAX_SEARCH_LENGTH], read_page_number(page.query)
    rows = await page.read(("topics", search, number), lambda: read_topics(search, number, page.context))
    total = rows[0].total if rows else 0
    return show_page(
        page, "topics.html", topics=rows, total=total, search=search, number=number,
        pages=count_pages(total),
    )  # fmt: skip


@needs("topic", "sns:GetTopicAttributes", "sns:ListTagsForResource", "sns:ListSubscriptionsByTopic")
def read_topic(name: str, wanted: SampleMessage, skip: int, context: Context) -> Operation[ExpandedTopic]:
    """Returns a topic. Raises NoSuchThing."""
    arn = build_arn(name, context)
    rows = (yield from Call(DESCRIBE_TOPIC, (arn,))) if is_topic_name(name) else []
    if not rows:
        raise NoSuchThing(f"There is no topic '{name}'.")
    subscriptions = yield from Call(READ_TOPIC_SUBSCRIPTIONS, (arn, *wanted.facts(), skip, PAGE))
    return ExpandedTopic(rows[0], subscriptions)


@screen("/console/topics/{topic}", right=right_of(read_topic))
async def topic(topic: str, page: CurrentPage) -> Response:
    """Shows a topic and its subscriptions. If the URL contains a test message, also shows which subscriptions would
    receive the message.
    """
    wanted = SampleMessage(
        *(page.query.get(name, "")[:MAX_TEST_LENGTH] for name in ("body", "attribute", "type", "value"))
    )
    number = read_page_number(page.query)
    shown = await page.run(read_topic(topic, wanted, count_rows_before(number), page.context))
    attributes = _texts.decode(shown.topic.attributes)
    return show_page(
        page, "topic.html", title=topic, name=topic, arn=build_arn(topic, page.context), shown=shown, wanted=wanted,
        attributes={key: value for key, value in attributes.items() if key != "Policy"},
        policy=attributes.get("Policy", ""), tags=_texts.decode(shown.topic.tags), number=number,
        pages=count_pages(shown.topic.confirmed + shown.topic.pending), done=page.query.get("done", ""),
        may_publish=page.may("sns:Publish", build_arn(topic, page.context)), fifo=is_fifo_name(topic),
        state={"body": wanted.body, "attribute": wanted.name, "type": wanted.kind, "value": wanted.value},
    )  # fmt: skip


def build_arn(name: str, context: Context) -> str:
    """Returns the ARN of a topic of the caller's account."""
    return str(TopicArn(context.region, context.account_id, name))


@act("/console/topics/{topic}/publish", right=right_of(publish_written))
async def publish(topic: str, page: CurrentPage) -> Response:
    """Publishes a message."""
    attribute = page.form.get("attribute").strip()
    kind, value = page.form.get("type").strip() or "String", page.form.get("value")
    request = PublishRequest(
        message=page.form.get("body").replace("\r\n", "\n"),
        message_attributes={attribute: TopicAttribute(kind, value)} if attribute else None,
        message_group_id=page.form.get("group").strip() or None,
        message_deduplication_id=page.form.get("dedup").strip() or None,
    )
    await page.act(publish_written(topic, request, page.context))
    return redirect(f"/console/topics/{topic}?done=published")
