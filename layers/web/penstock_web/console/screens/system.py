"""Shows the whole installation: overdue work, the server, migrations, the connection pool and dead rows."""

from collections.abc import Mapping
from functools import cache
from typing import NamedTuple

from fastapi import Response

from penstock import __version__
from penstock.management.attention.concerns import LATE_SECONDS, OLD_SECONDS
from penstock.management.installation import read_installation, read_server
from penstock.management.rights import right_of
from penstock.postgres.statements.installation import ServerRow
from penstock_web.console.page import CurrentPage
from penstock_web.console.rendering import count, seconds, size
from penstock_web.console.responses import show_page
from penstock_web.console.screen import screen


class Fact(NamedTuple):
    """A figure with a label. `is_bad` is true if the figure needs attention."""

    label: str
    text: str
    is_bad: bool = False


class Rows(NamedTuple):
    """PostgreSQL's estimates of a table's rows."""

    table: str
    live: float
    dead: float


@screen("/console/system", right=right_of(read_installation, read_server), title="System", position=70)
async def system(page: CurrentPage) -> Response:
    """Shows the last measurements of the worker `measure`, and the server's current state."""
    await page.refresh()
    rows = await page.read(("installation",), lambda: read_installation(page.context))
    known = {(row.name, row.label): row.value for row in rows}
    tables = [
        Rows(label, known.get(("live_rows", label), 0), known.get(("dead_rows", label), 0))
        for label in sorted({label for name, label in known if name in ("live_rows", "dead_rows")})
    ]
    used = [table for table in tables if table.live or table.dead]
    server = (await page.read(("server",), lambda: read_server(page.context)))[0]
    figures = {name: value for (name, label), value in known.items() if not label}
    return show_page(
        page, "system.html", facts=list_facts(figures),
        tables=sorted(used, key=lambda table: (-table.dead, -table.live)), empty=len(tables) - len(used),
        version=__version__,
        settings=page.context.environment.settings, server=server,
        migrated=compare_migrations(server.migrations, read_expected()),
        database=database_facts(server), pool=pool_facts(page.pool()),
    )  # fmt: skip


def list_facts(known: dict[str, float]) -> list[Fact]:
    """Returns the installation's figures."""
    schedules, deliveries = known.get("schedules_overdue"), known.get("deliveries_overdue")
    oldest = known.get("oldest_transaction")
    return [
        Fact("most overdue schedule", seconds(schedules), (schedules or 0) > LATE_SECONDS),
        Fact("most overdue delivery", seconds(deliveries), (deliveries or 0) > LATE_SECONDS),
        Fact("waiting deliveries", count(known.get("deliveries_pending"))),
        Fact("oldest transaction", seconds(oldest), (oldest or 0) > OLD_SECONDS),
        Fact("transactions since the oldest snapshot", count(known.get("oldest_xmin"))),
        Fact("failed runs of the metrics job", count(known.get("metrics_job_failures"))),
    ]


# --- the server ------------------------------------------------------------------------------------------------------
class Migrated(NamedTuple):
    """The state of the migrations. `applied` counts applied migrations, and `newer` counts migrations of a newer
    release. `missing` names migrations that are not applied. `missing` is None if this release's files are not
    installed, as in a Lambda function.
    """

    applied: int
    last: str | None
    missing: list[str] | None
    newer: int


@cache
def read_expected() -> dict[int, str]:
    """Returns a dict from the number to the name of each migration in this release. The dict is empty if the migration
    files are not installed.
    """
    try:  # Some Lambda functions do not contain penstock.postgres.migrations.
        from penstock.postgres.migrations import find_sql_directory, read_migrations  # noqa: PLC0415
    except ModuleNotFoundError:
        return {}
    return {script.number: script.name.removesuffix(".sql") for script in read_migrations(find_sql_directory())}


def compare_migrations(applied: list[int], known: Mapping[int, str]) -> Migrated:
    """Compares the applied migrations with this release's migrations."""
    missing = [name for number, name in known.items() if number not in applied]
    last = known.get(applied[-1]) if applied else None
    newer = sum(number > max(known, default=0) for number in applied) if known else 0
    return Migrated(len(applied), last, missing if known else None, newer)


def database_facts(server: ServerRow) -> list[Fact]:
    """Returns figures about the server. Omits figures that the service's database role cannot see."""
    snapshot = server.snapshot_seconds
    return [
        Fact("oldest snapshot", seconds(snapshot) if snapshot else "none", snapshot > OLD_SECONDS),
        Fact("connections, of at most", f"{server.connections:,} / {server.max_connections:,}"),
        Fact("WAL on disk", size(server.wal_bytes)),
        Fact("replication slots", count(server.slots)),
        Fact("WAL that slots retain", "none" if server.slots == 0 else size(server.kept_bytes)),
    ]


def pool_facts(stats: Mapping[str, int] | None) -> list[Fact]:
    """Returns figures about this process's connection pool, or an empty list if the process has no pool."""
    if stats is None:
        return []
    open_, idle, waiting = (stats.get(name, 0) for name in ("pool_size", "pool_available", "requests_waiting"))
    return [
        Fact("open", count(open_)),
        Fact("in use", count(max(0, open_ - idle))),
        Fact("calls waiting for a connection", count(waiting), waiting > 0),
    ]
