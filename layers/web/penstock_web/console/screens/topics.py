"""Shows, creates and deletes topics, tests filter policies, and publishes messages."""

from typing import Final, NamedTuple

import msgspec
from fastapi import Response

from penstock.access.authorization import check_anywhere
from penstock.aws.fifo_name import FIFO_ENDING, is_fifo_name
from penstock.delivery.warnings import hide_secrets
from penstock.errors import AwsError
from penstock.management.attention.concerns import FAILS, GIVEN_UP, PAUSED
from penstock.management.rights import SIGNED_IN, build_topic_arn, right_of, show
from penstock.management.topics import (
    NewTopic,
    create_topic,
    delete_topic,
    expand_topic,
    find_failing_endpoints,
    publish_written,
    read_topic_page,
)
from penstock.sns.filter_policy import facts
from penstock.sns.types import MessageAttributeValue as TopicAttribute
from penstock.sns.types import PublishRequest
from penstock.sqs.types import MessageAttributeValue
from penstock_web.console.forms import Form
from penstock_web.console.page import CurrentPage, Page
from penstock_web.console.paging import PAGE, count_pages, count_rows_before, read_page_number
from penstock_web.console.rendering import segment
from penstock_web.console.resources import check_topic, read_others
from penstock_web.console.responses import ACCEPTED, NoSuchThing, Refusal, explain_refusal, redirect, show_page
from penstock_web.console.screen import act, screen

MAX_SEARCH_LENGTH: Final = 80
MAX_TEST_LENGTH: Final = 4_000
TOPIC_ACTS: Final = ("Publish", "Subscribe", "DeleteTopic")
TOPIC_FIELDS: Final = {
    "DisplayName": "display_name", "MaximumMessageSize": "size", "Policy": "policy",
    "ContentBasedDeduplication": "content", "FifoThroughputScope": "throughput",
}  # fmt: skip
"""The form's fields by attribute."""
NEW_FIELDS: Final = {
    "Name": "name", "Attributes": "name", "Tags": "tags", "DisplayName": "display_name", "MaximumMessageSize": "size",
    "Policy": "policy", "ContentBasedDeduplication": "fifo", "FifoThroughputScope": "fifo",
}  # fmt: skip
"""The fields of the form of a new topic by the members of errors."""
MESSAGE_FIELDS: Final = {
    "Subject": "subject", "Message": "body", "MessageStructure": "body", "MessageGroupId": "group",
    "MessageDeduplicationId": "dedup", "MessageAttributes": "attribute",
}  # fmt: skip

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


@screen("/console/topics", right=right_of(read_topic_page), title="Topics", position=30)
async def topics(page: CurrentPage) -> Response:
    """Shows topics, first those that deliver to an endpoint in trouble, and then the others by name."""
    search, number = page.query.get("q", "").strip()[:MAX_SEARCH_LENGTH], read_page_number(page.query)
    troubles = await page.read(
        ("failing", page.may("penstock:ListDeliveries")), lambda: show(find_failing_endpoints(page.context))
    )
    endpoints = tuple(troubles or ())
    rows = await page.read(
        ("topics", search, number, endpoints),
        lambda: read_topic_page(search, count_rows_before(number), PAGE, endpoints, page.context),
    )
    total = rows[0].total if rows else 0
    return show_page(
        page, "topics.html", title="Topics", topics=rows, total=total, search=search, number=number, troubles=troubles,
        pages=count_pages(total), may_create=page.may_ever("sns:CreateTopic"), done=page.query.get("done", ""),
    )  # fmt: skip


@screen("/console/topics-new", right=SIGNED_IN, title="New topic")
async def new_topic(page: CurrentPage) -> Response:
    """Shows the form of a new topic to a user who can create any topic."""
    check_anywhere("sns", "CreateTopic", page.context)
    return show_new(page, Form(), ACCEPTED)


def show_new(page: Page, form: Form, refusal: Refusal) -> Response:
    """Shows the form of a new topic. `form` has what the user has typed."""
    return show_page(page, "topic_form.html", refusal.status, title="New topic", form=form, problems=refusal.problems)


@act("/console/topics", right=right_of(create_topic))
async def create_topic_by_form(page: CurrentPage) -> Response:
    """Creates a topic. The name of a FIFO topic gets its ending."""
    form = page.form
    name = form.get("name").strip()
    if form.get("fifo") and not is_fifo_name(name):
        name += FIFO_ENDING
    attributes = {key: form.get_text(field) for key, field in TOPIC_FIELDS.items() if form.get_text(field)}
    try:
        made = await page.act(create_topic(NewTopic(name, attributes, form.get_tags()), page.context))
    except AwsError as error:
        return show_new(page, form, explain_refusal(error, form, NEW_FIELDS))
    return redirect(f"/console/topics/{segment(made.name)}?done=topic")


@screen("/console/topics/{topic}", right=right_of(expand_topic))
async def topic(topic: str, page: CurrentPage) -> Response:
    """Shows a topic and its subscriptions. If the URL contains a test message, also shows which subscriptions would
    receive the message.
    """
    wanted = SampleMessage(
        *(page.query.get(name, "")[:MAX_TEST_LENGTH] for name in ("body", "attribute", "type", "value"))
    )
    number = read_page_number(page.query)
    shown = await page.run(expand_topic(topic, wanted.facts(), count_rows_before(number), PAGE, page.context))
    if shown is None:
        raise NoSuchThing(f"There is no topic '{topic}'.")
    attributes = _texts.decode(shown.topic.attributes)
    concerns = await read_others(page) if shown.subscriptions else []
    return show_page(
        page, "topic.html", title=topic, name=topic, arn=build_topic_arn(topic, page.context), shown=shown,
        troubles={one.name: one for one in concerns if one.kind in (GIVEN_UP, FAILS, PAUSED)}, hidden=hide_secrets,
        wanted=wanted, attributes={key: value for key, value in attributes.items() if key != "Policy"},
        policy=attributes.get("Policy", ""), tags=_texts.decode(shown.topic.tags), number=number,
        pages=count_pages(shown.topic.confirmed + shown.topic.pending), done=page.query.get("done", ""),
        may={name: page.may(f"sns:{name}", build_topic_arn(topic, page.context)) for name in TOPIC_ACTS},
        state={"body": wanted.body, "attribute": wanted.name, "type": wanted.kind, "value": wanted.value},
    )  # fmt: skip


@act("/console/topics/{topic}/delete", right=right_of(delete_topic))
async def delete_topic_by_form(topic: str, page: CurrentPage) -> Response:
    """Deletes a topic with its subscriptions. The user must type the topic's name."""
    page.check_typed(topic, "deleted the topic")
    await page.act(delete_topic(topic, page.context))
    return redirect("/console/topics?done=deleted")


@screen("/console/topics/{topic}/publish", right=right_of(publish_written))
async def publish_form(topic: str, page: CurrentPage) -> Response:
    """Shows the form of a message."""
    await page.run(check_topic(topic, page.context))
    return show_publication(topic, page, page.form, ACCEPTED)


@act("/console/topics/{topic}/publish", right=right_of(publish_written))
async def publish(topic: str, page: CurrentPage) -> Response:
    """Publishes a message."""
    form = page.form
    request = PublishRequest(
        message=form.get("body").replace("\r\n", "\n"),
        subject=form.get("subject") or None,
        message_structure="json" if form.get("structure") else None,
        message_attributes=read_attributes(form) or None,
        message_group_id=form.get("group").strip() or None,
        message_deduplication_id=form.get("dedup").strip() or None,
    )
    try:
        await page.act(publish_written(topic, request, page.context))
    except AwsError as error:
        return show_publication(topic, page, form, explain_refusal(error, form, MESSAGE_FIELDS))
    return redirect(f"/console/topics/{segment(topic)}?done=published")


def read_attributes(form: Form) -> dict[str, TopicAttribute]:
    """Returns the form's attributes by name. A binary value is in Base64."""
    return {
        name: TopicAttribute(kind.strip() or "String", None, value)
        if kind.strip().startswith("Binary")
        else TopicAttribute(kind.strip() or "String", value)
        for name, kind, value in form.get_rows("attribute", "type", "value")
    }


def show_publication(topic: str, page: Page, form: Form, refusal: Refusal) -> Response:
    """Shows the form of a message."""
    return show_page(
        page, "publish.html", refusal.status, title=f"Publish to {topic}", name=topic, fifo=is_fifo_name(topic),
        form=form, problems=refusal.problems,
    )  # fmt: skip
