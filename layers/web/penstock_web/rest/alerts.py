"""Serves /v1/alerts: the address to which the account's alerts go. See docs/operate/alerts.md."""

from penstock.documents.decoding import build_reader
from penstock.management.alerts import operations as alerts
from penstock.management.alerts.mutes import mute_alerts
from penstock.management.alerts.operations import AlertSettings, MutedResource, NewAlertUrl, NewMute, SentAlert
from penstock.management.errors import AlertsNotSet
from penstock.management.rights import right_of
from penstock_web.routing.routes import Routes, Runner

routes = Routes("alerts", prefix="/alerts")

_read_url = build_reader(NewAlertUrl)
_read_mute = build_reader(NewMute)


@routes.get("", right=right_of(alerts.read_alerts), response=AlertSettings)
async def read_alerts(runner: Runner) -> AlertSettings:
    """Show the address of the account's alerts without its secret parts, and the problems that were told."""
    return await runner.run(alerts.read_alerts(runner.context))


@routes.put("", right=right_of(alerts.set_alert_url), status=204, body=NewAlertUrl)
async def set_alerts(runner: Runner) -> None:
    """Send the account's alerts to this URL instead of the installation's. The new URL learns of all current
    problems."""
    url = (await runner.read(_read_url)).url
    await runner.run(alerts.set_alert_url(url, runner.context))


@routes.delete("", right=right_of(alerts.set_alert_url), status=204)
async def clear_alerts(runner: Runner) -> None:
    """Send the account's alerts to the installation's address again."""
    await runner.run(alerts.set_alert_url(None, runner.context))


@routes.post("/test", right=right_of(alerts.send_test), status=202, response=list[SentAlert], raises=(AlertsNotSet,))
async def test_alerts(runner: Runner) -> list[SentAlert]:
    """Send a test to the account's address. The service checks, signs, logs and retries the test like every alert."""
    return await runner.run(alerts.send_test(runner.context))


@routes.post("/mute", right=right_of(mute_alerts), body=NewMute, response=MutedResource)
async def mute(runner: Runner) -> MutedResource:
    """Mute the alerts about one resource for some hours, or end the mute. Pages and the status still show its problems.
    The end of a problem that was told is told, too."""
    new = await runner.read(_read_mute)
    until = await runner.run(mute_alerts(new.resource, new.name, new.hours, runner.context))
    return MutedResource(new.resource, new.name, until)
