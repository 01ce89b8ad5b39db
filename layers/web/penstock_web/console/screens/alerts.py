"""Shows the address of the account's alerts and the reported problems. Sets, removes and tests the address."""

from collections.abc import Sequence
from typing import Final, NamedTuple

from fastapi import Response

from penstock.errors import AwsError, InvalidParameterValue
from penstock.management import attention
from penstock.management.alerts import operations as alerts
from penstock.management.alerts.operations import FiringAlert, SentAlert
from penstock.management.rights import right_of
from penstock.settings.alert_url import MAX_CHARACTERS
from penstock_web.console.forms import Form
from penstock_web.console.page import CurrentPage, Page
from penstock_web.console.rendering import plural, query
from penstock_web.console.responses import ACCEPTED, Refusal, explain_refusal, redirect, show_page
from penstock_web.console.screen import act, screen

COUNTED: Final = {
    attention.GIVEN_UP: "delivery", attention.PAUSED: "delivery", attention.FAILS: "delivery",
    attention.DELIVERIES_LATE: "delivery", attention.SCHEDULES_LATE: "schedule", attention.SCHEDULE_FAILS: "failure",
    attention.MAPPING_FAILS: "failed invocation", attention.MAPPING_STOPPED: "failed invocation",
    attention.OLD_TRANSACTION: "transaction", attention.OLD_SNAPSHOT: "transaction",
}  # fmt: skip
"""What the number of a problem counts. Other problems count messages."""


class ShownAlert(NamedTuple):
    """A reported problem. `page` is empty for a problem of another region. `number` has the noun that it counts."""

    alert: FiringAlert
    page: str
    number: str


@screen("/console/alerts", right=right_of(alerts.read_alerts), title="Alerts", position=65)
async def alerts_page(page: CurrentPage) -> Response:
    """Shows the address and the problems."""
    return await show_alerts(page, Form(), ACCEPTED)


@act("/console/alerts", right=right_of(alerts.set_alert_url))
async def set_alerts(page: CurrentPage) -> Response:
    """Sets the account's own address. After an error, shows the form again with the address that the user entered."""
    try:
        url = page.form.get("url").strip()
        if not url:
            raise InvalidParameterValue("url: enter a URL.")
        await page.act(alerts.set_alert_url(url, page.context))
    except AwsError as error:
        return await show_alerts(page, page.form, explain_refusal(error, page.form, {"url": "url"}))
    return redirect("/console/alerts?done=alerts_set")


@act("/console/alerts/clear", right=right_of(alerts.set_alert_url))
async def clear_alerts(page: CurrentPage) -> Response:
    """Removes the account's own address, so that alerts go to the installation's address."""
    await page.act(alerts.set_alert_url(None, page.context))
    return redirect("/console/alerts?done=alerts_cleared")


@act("/console/alerts/test", right=right_of(alerts.send_test))
async def test_alerts(page: CurrentPage) -> Response:
    """Sends a test, and shows its attempt. The list of attempts needs another right."""
    try:
        sent = await page.act(alerts.send_test(page.context))
    except AwsError as error:
        return await show_alerts(page, Form(), explain_refusal(error, page.form, {}))
    if page.may("penstock:ListDeliveries"):
        return redirect(f"/console/deliveries{query(select_attempts(sent))}")
    return redirect("/console/alerts?done=tested")


def select_attempts(sent: Sequence[SentAlert]) -> dict[str, object]:
    """Returns the parameters of the page that shows the attempt of a test, or the newest attempts at any endpoint after
    several tests."""
    if len(sent) > 1:
        return {"view": "attempts"}
    return {"view": "attempts", "endpoint": sent[0].endpoint, "test": sent[0].message_id}


async def show_alerts(page: Page, form: Form, refusal: Refusal) -> Response:
    """Shows the page. `form` has the address that the user entered."""
    found = await page.read(("alerts",), lambda: alerts.read_alerts(page.context))
    settings = page.context.environment.settings
    return show_page(
        page, "alerts.html", refusal.status, title="Alerts", found=found, form=form, problems=refusal.problems,
        firing=[describe(alert, page.context.region) for alert in found.firing], most=MAX_CHARACTERS,
        evaluations=settings.queue_alert_evaluations,
        may_set=page.may("penstock:SetAlerts"), done=page.query.get("done", ""),
        may_test=page.may("penstock:TestAlerts")
        and bool(found.url or (found.installation and page.context.account_id == settings.queue_account_id)),
    )  # fmt: skip


def describe(alert: FiringAlert, region: str) -> ShownAlert:
    """Adds the page where a user can mend a problem. The console shows one region."""
    noun = COUNTED.get(alert.kind, "message")
    number = plural(alert.number, noun, "deliveries" if noun == "delivery" else None)
    return ShownAlert(alert, alert.page if alert.region in ("", region) else "", number)
