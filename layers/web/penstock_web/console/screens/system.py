"""The installation: what its workers are behind with, snapshots, dead rows. Of all accounts together."""

from typing import Final, NamedTuple

from fastapi import APIRouter, Response

from penstock import __version__
from penstock.effects import Call
from penstock.postgres.statements.installation import READ_INSTALLATION
from penstock_web.console.console_route import ConsoleRoute, CurrentPage
from penstock_web.console.rendering import count, seconds

router = APIRouter(route_class=ConsoleRoute, include_in_schema=False)

LATE_SECONDS: Final = 60.0
OLD_SNAPSHOT_SECONDS: Final = 600.0


class Fact(NamedTuple):
    """A figure, what it means, and whether it is a reason to look."""

    label: str
    text: str
    is_bad: bool = False


class Rows(NamedTuple):
    """Rows of a table, as PostgreSQL estimates them."""

    table: str
    live: float | None
    dead: float | None


@router.get("/console/system")
async def system(page: CurrentPage) -> Response:
    """What the worker `measure` read last."""
    await page.refresh()
    rows = await page.read(("installation",), lambda: iter(Call(READ_INSTALLATION, ())))
    known = {(row.name, row.label): row.value for row in rows}
    tables = [
        Rows(label, known.get(("live_rows", label)), known.get(("dead_rows", label)))
        for label in sorted({label for name, label in known if name in ("live_rows", "dead_rows")})
    ]
    figures = {name: value for (name, label), value in known.items() if not label}
    return page.show(
        "system.html", title="System", facts=facts_of(figures),
        tables=sorted(tables, key=lambda table: -(table.dead or 0)), version=__version__,
        settings=page.context.environment.settings,
    )  # fmt: skip


def facts_of(known: dict[str, float]) -> list[Fact]:
    """The figures of the installation; what is not known stays so."""
    schedules, webhooks = known.get("schedules_overdue"), known.get("webhooks_overdue")
    oldest = known.get("oldest_transaction")
    return [
        Fact("schedule that waits longest is due for", seconds(schedules), (schedules or 0) > LATE_SECONDS),
        Fact("webhook that waits longest is due for", seconds(webhooks), (webhooks or 0) > LATE_SECONDS),
        Fact("webhooks that wait", count(known.get("webhooks_pending"))),
        Fact("oldest transaction", seconds(oldest), (oldest or 0) > OLD_SNAPSHOT_SECONDS),
        Fact("transactions since the oldest snapshot", count(known.get("oldest_xmin"))),
        Fact("failed runs of the metrics job", count(known.get("metrics_job_failures"))),
    ]
