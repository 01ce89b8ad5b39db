"""Subscribes endpoints to topics. Shows, changes, confirms and ends subscriptions, and tests their filter policies."""

from typing import Final
from urllib.parse import parse_qs, urlsplit

from fastapi import Response

from penstock.errors import AwsError
from penstock.management.rights import right_of
from penstock.management.subscriptions import (
    DescribedSubscription,
    SubscriptionSettings,
    change_subscription,
    confirm_subscription,
    describe_subscription,
    passes_filter,
    subscribe_endpoint,
)
from penstock.management.topics import unsubscribe
from penstock_web.console.forms import Form
from penstock_web.console.message_form import read_sample
from penstock_web.console.page import CurrentPage, Page
from penstock_web.console.rendering import segment
from penstock_web.console.resources import check_topic, list_queue_names
from penstock_web.console.responses import ACCEPTED, Refusal, explain_refusal, redirect, show_page
from penstock_web.console.screen import act, screen

PROTOCOLS: Final = {
    "sqs": "queue (sqs)", "https": "URL (https)", "http": "URL (http)", "email": "e-mail (email)",
    "email-json": "e-mail with JSON (email-json)", "lambda": "function (lambda)", "sms": "text message (sms)",
    "application": "mobile app (application)", "firehose": "Firehose (firehose)",
}  # fmt: skip
SCOPES: Final = {"MessageAttributes": "the attributes of a message", "MessageBody": "the body of a message"}
FIELDS: Final = {
    "Endpoint": "endpoint", "Protocol": "protocol", "FilterPolicy": "filter", "FilterPolicyScope": "filter",
    "RedrivePolicy": "dead_letters", "RawMessageDelivery": "raw", "Token": "token",
}  # fmt: skip
"""The form's fields by the members of errors."""


@screen("/console/topics/{topic}/subscribe", right=right_of(subscribe_endpoint))
async def subscribe_form(topic: str, page: CurrentPage) -> Response:
    """Shows the form of a new subscription."""
    await page.run(check_topic(topic, page.context))
    form = Form.filled({"protocol": "sqs", "endpoint": page.query.get("queue", "")})
    return await show_new(topic, page, form, ACCEPTED)


@act("/console/topics/{topic}/subscribe", right=right_of(subscribe_endpoint))
async def subscribe(topic: str, page: CurrentPage) -> Response:
    """Subscribes an endpoint. With the button for a test, only tests the filter policy."""
    form = page.form
    settings = read_settings(form)
    try:
        if form.get("do") != "test":
            operation = subscribe_endpoint(
                topic, form.get("protocol") or "sqs", form.get("endpoint").strip(), settings, page.context
            )
            arn = await page.act(operation)
            return redirect(f"{subscription_path(topic, arn.rpartition(':')[2])}?done=subscribed")
        await page.authorize()
        result = await page.run(passes_filter(settings, read_sample(form)))
    except AwsError as error:
        return await show_new(topic, page, form, explain_refusal(error, form, FIELDS))
    return await show_new(topic, page, form, ACCEPTED, result)


@screen("/console/topics/{topic}/subscriptions/{subscription}", right=right_of(describe_subscription))
async def subscription(topic: str, subscription: str, page: CurrentPage) -> Response:
    """Shows a subscription and a form that changes it."""
    shown = await page.run(describe_subscription(topic, subscription, page.context))
    settings = shown.settings
    form = Form.filled({
        "filter": settings.filter, "scope": settings.scope, "raw": "1" if settings.raw else "",
        "dead_letters": settings.dead_letters, "version": shown.version,
    })  # fmt: skip
    return await show_old(topic, shown, page, form, ACCEPTED)


@act("/console/topics/{topic}/subscriptions/{subscription}", right=right_of(change_subscription))
async def change_subscription_by_form(topic: str, subscription: str, page: CurrentPage) -> Response:
    """Changes a subscription. With the button for a test, only tests the filter policy."""
    form = page.form
    settings = read_settings(form)
    try:
        if form.get("do") != "test":
            operation = change_subscription(topic, subscription, settings, form.get("version"), page.context)
            await page.act(operation)
            return redirect(f"{subscription_path(topic, subscription)}?done=saved")
        await page.authorize()
        result = await page.run(passes_filter(settings, read_sample(form)))
    except AwsError as error:
        return await show_old_again(topic, subscription, page, error)
    shown = await page.run(describe_subscription(topic, subscription, page.context))
    return await show_old(topic, shown, page, form, ACCEPTED, result)


@act("/console/topics/{topic}/subscriptions/{subscription}/confirm", right=right_of(confirm_subscription))
async def confirm_subscription_by_form(topic: str, subscription: str, page: CurrentPage) -> Response:
    """Confirms a subscription by the token, or by the URL with the token, that the endpoint received."""
    try:
        arn = await page.act(confirm_subscription(topic, read_token(page.form.get("token")), page.context))
    except AwsError as error:
        return await show_old_again(topic, subscription, page, error)
    return redirect(f"{subscription_path(topic, arn.rpartition(':')[2])}?done=confirmed")


@act("/console/topics/{topic}/subscriptions/{subscription}/delete", right=right_of(unsubscribe))
async def end_subscription(topic: str, subscription: str, page: CurrentPage) -> Response:
    """Ends a subscription."""
    await page.act(unsubscribe(topic, subscription, page.context))
    return redirect(f"/console/topics/{segment(topic)}?done=unsubscribed")


# --- forms -----------------------------------------------------------------------------------------------------------
def read_settings(form: Form) -> SubscriptionSettings:
    scope = form.get("scope")
    return SubscriptionSettings(
        form.get_text("filter"), scope if scope in SCOPES else "MessageAttributes", bool(form.get("raw")),
        form.get("dead_letters").strip(),
    )  # fmt: skip


def read_token(text: str) -> str:
    """Returns a token. The text is the token, or the URL of a confirmation, which contains the token."""
    return "".join(parse_qs(urlsplit(text).query).get("Token", [text])).strip() if "?" in text else text.strip()


async def show_new(topic: str, page: Page, form: Form, refusal: Refusal, result: bool | None = None) -> Response:
    """Shows the form of a new subscription. `result` says whether the sample message passes the filter."""
    return show_page(
        page, "subscription.html", refusal.status, title=f"Subscribe to {topic}", name=topic, shown=None, id="",
        form=form, problems=refusal.problems, result=result, protocols=PROTOCOLS, scopes=SCOPES,
        queues=await page.run(list_queue_names(page.context)), may={"SetSubscriptionAttributes": True}, done="",
    )  # fmt: skip


async def show_old(
    topic: str, shown: DescribedSubscription, page: Page, form: Form, refusal: Refusal, result: bool | None = None
) -> Response:
    """Shows a subscription and the form that changes it."""
    may = {name: page.may(f"sns:{name}", shown.arn) for name in ("SetSubscriptionAttributes", "Unsubscribe")}
    topic_arn, _, subscription_id = shown.arn.rpartition(":")
    return show_page(
        page, "subscription.html", refusal.status, title=f"Subscription to {topic}", name=topic, shown=shown,
        id=subscription_id, form=form, problems=refusal.problems, result=result, protocols=PROTOCOLS, scopes=SCOPES,
        queues=await page.run(list_queue_names(page.context)), done=page.query.get("done", ""),
        may={**may, "ConfirmSubscription": page.may("sns:ConfirmSubscription", topic_arn)},
    )  # fmt: skip


async def show_old_again(topic: str, subscription: str, page: Page, error: AwsError) -> Response:
    """Shows a subscription's form with an error. Raises the error if the page cannot show the subscription."""
    try:
        shown = await page.run(describe_subscription(topic, subscription, page.context))
    except AwsError:
        raise error from None
    return await show_old(topic, shown, page, page.form, explain_refusal(error, page.form, FIELDS))


def subscription_path(topic: str, subscription: str) -> str:
    return f"/console/topics/{segment(topic)}/subscriptions/{segment(subscription)}"
