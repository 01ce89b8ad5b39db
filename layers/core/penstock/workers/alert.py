"""Tells what needs attention. The worker `measure` runs this part after its measurements.

Only one process evaluates at a time, and stores the state of the alerts together with their messages, so that each
change is told once. The worker `deliver` sends the messages.
"""

from typing import TYPE_CHECKING, NamedTuple

from penstock.postgres.statements.alerts import BEGIN_ALERTS
from penstock.postgres.statements.installation import PROBE_WRITE
from penstock.settings import Settings

if TYPE_CHECKING:
    from penstock.drivers import StatementExecutor


class AlertRun(NamedTuple):
    """`is_on` says whether any account has alerts. `reported` is the number of messages that the run stored.

    `refusal` says why the database refuses changes, which is `disk full` or `read-only`. The caller passes it to the
    next run, so that the first evaluation after the outage can tell it.
    """

    is_on: bool
    reported: int
    refusal: str = ""


def run_once(settings: Settings, connection: "StatementExecutor", shortest_ms: int = 0, refusal: str = "") -> AlertRun:
    """Makes an evaluation if one is due. `shortest_ms` is the shortest time between two runs. `refusal` is the result
    of the last run. Raises the errors of calls; the next evaluation then finds the same changes.

    Evaluates nothing while the database refuses changes. On a full disk, an evaluation could end without storing the
    alerts, and would hide the outage.
    """
    interval_ms = max(settings.queue_alert_interval_ms, shortest_ms)
    has_default = bool(settings.queue_alert_url or settings.queue_alert_email)
    (begun,) = connection.call(BEGIN_ALERTS, (interval_ms, has_default))
    if begun.round is None:
        return AlertRun(begun.is_on, 0, refusal)
    (probed,) = connection.call(PROBE_WRITE, ())
    if probed.refusal:
        return AlertRun(begun.is_on, 0, probed.refusal)
    # Most runs evaluate nothing, and a function starts faster without these modules.
    from penstock.drivers import run  # noqa: PLC0415
    from penstock.management.alerts.evaluation import evaluate  # noqa: PLC0415

    return AlertRun(True, run(evaluate(settings, begun, interval_ms, refusal), connection))
