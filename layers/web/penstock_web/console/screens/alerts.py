"""Shows the address of the account's alerts and the reported problems. Sets, removes and tests the address. Mutes the
alerts about one resource.
"""

from collections.abc import Sequence
from typing import NamedTuple

import msgspec
from fastapi import Response

from penstock.errors import AwsError, InvalidParameterValue
from penstock.management.alerts import operations as alerts
from penstock.management.alerts.mutes import mute_alerts
from penstock.management.alerts.operations import (
    AlertSettings,
    FiringAlert,
    MutedResource,
    NewMute,
    PendingAlert,
    SentAlert,
)
from penstock.management.rights import right_of
from penstock.management.verdicts import LEVELS
from penstock.settings.alert_url import MAX_CHARACTERS
from penstock.verdicts.words import count_in_words
from penstock_web.console.forms import Form
from penstock_web.console.page import CurrentPage, Page
from penstock_web.console.rendering import query
from penstock_web.console.responses import ACCEPTED, Refusal, explain_refusal, redirect, show_page
from penstock_web.console.screen import act, screen


class ShownAlert(NamedTuple):
    """A problem. `page` is empty for a problem of another region. `number` has the noun that it counts. `is_reported`
    is False if no alert has reported the problem yet.
    """

    alert: FiringAlert | PendingAlert
    page: str
    number: str
    is_reported: bool


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
            raise InvalidParameterValue("url: enter a URL.", member="url")
        await page.act(alerts.set_alert_url(url, page.context))
    except AwsError as error:
        return await show_alerts(page, page.form, explain_refusal(error, page.form, {"url": "url"}))
    return redirect("/console/alerts?done=alerts_set")


@act("/console/alerts/clear", right=right_of(alerts.set_alert_url))
async def clear_alerts(page: CurrentPage) -> Response:
    """Removes the account's own address, so that alerts go to the installation's address."""
    await page.act(alerts.set_alert_url(None, page.context))
    return redirect("/console/alerts?done=alerts_cleared")


@act("/console/alerts/mute", right=right_of(mute_alerts))
async def mute_by_form(page: CurrentPage) -> Response:
    """Mutes the alerts about a resource for the hours of the pressed button, or ends the mute."""
    hours = page.form.get("hours")
    document = {name: page.form.get(name) for name in ("resource", "name")}
    try:
        new = msgspec.convert({**document, "hours": int(hours) if hours in ("0", "1", "8", "24") else -1}, NewMute)
    except msgspec.ValidationError as error:
        raise InvalidParameterValue(str(error)) from error
    await page.act(mute_alerts(new.resource, new.name, new.hours, page.context))
    return redirect(f"/console/alerts?done={'muted' if new.hours else 'unmuted'}")


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
        listed=list_problems(found, page.context.region), quiet=list_quiet(found), most=MAX_CHARACTERS,
        evaluations=settings.queue_alert_evaluations,
        is_sender=bool(found.url) or page.context.account_id == settings.queue_account_id,
        may_set=page.may("penstock:SetAlerts"), may_mute=page.may("penstock:MuteAlerts"),
        done=page.query.get("done", ""),
        may_test=page.may("penstock:TestAlerts")
        and bool(found.url or (found.installation and page.context.account_id == settings.queue_account_id)),
    )  # fmt: skip


def list_problems(found: AlertSettings, region: str) -> list[ShownAlert]:
    """Returns the problems, the most severe first. Among equally severe problems, the reported ones come first."""
    problems: list[FiringAlert | PendingAlert] = [*found.firing, *found.pending]
    listed = [describe(alert, region) for alert in problems]
    return sorted(listed, key=lambda one: LEVELS.index(one.alert.level))


def list_quiet(found: AlertSettings) -> list[MutedResource]:
    """Returns the muted resources that have no problem now."""
    problems: list[FiringAlert | PendingAlert] = [*found.firing, *found.pending]
    shown = {(alert.resource, alert.name) for alert in problems}
    return [one for one in found.muted if (one.resource, one.name) not in shown]


def describe(alert: FiringAlert | PendingAlert, region: str) -> ShownAlert:
    """Adds the page where a user can mend a problem. The console shows one region."""
    number = count_in_words(alert.kind, alert.number)
    return ShownAlert(alert, alert.page if alert.region in ("", region) else "", number, isinstance(alert, FiringAlert))
