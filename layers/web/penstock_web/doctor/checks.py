"""Lists all checks, and runs the checks in this order."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Final, NamedTuple

import psycopg

from penstock.errors import AwsError
from penstock.postgres.database import Database
from penstock.settings import SettingError
from penstock_web.database.outage import is_shortage
from penstock_web.local_error import LocalError

from . import alerts, database, own_settings, pooler, roles, server_settings, service, sessions, stored_rows, versions
from .examination import Examination, Finding
from .own_settings import check_settings, find_usable_settings

IDS: Final = "ids"
_ROWS: Final = "stored rows"
_SUBSCRIPTIONS: Final = "subscriptions"


class Check(NamedTuple):
    """A check, and the page that explains the check's findings."""

    name: str
    page: str
    run: Callable[[Examination], Iterable[Finding]]
    needs: str = ""
    """The name of an earlier check. The runner skips this check if the earlier check found a problem or was skipped."""
    applies: Callable[[Examination], bool] = lambda _: True


def _with_database(
    work: Callable[[Database, Examination], Iterable[Finding]],
) -> Callable[[Examination], Iterator[Finding]]:
    def run(examined: Examination) -> Iterator[Finding]:
        opened = Database(examined.address, call_seconds=stored_rows.CALL_SECONDS)
        try:
            yield from work(opened, examined)
        finally:
            opened.close()

    return run


CHECKS: Final = (
    Check(own_settings.SUBJECT, "/docs/reference/settings/", lambda examined: check_settings(examined.variables)),
    Check(
        service.SUBJECT,
        "/docs/operate/unavailable/",
        lambda examined: () if examined.folder is None else service.check_service(examined.folder),
        applies=lambda examined: examined.folder is not None,
    ),
    Check(
        alerts.ALERTS,
        "/docs/operate/alerts/",
        lambda examined: alerts.check_alerts(examined.settings),
        applies=lambda examined: bool(examined.settings.queue_alert_url or examined.settings.queue_alert_email),
    ),
    Check(database.DATABASE, "/docs/operate/unavailable/#the-database-does-not-answer", database.check_database),
    Check(pooler.CONNECTION, "/docs/operate/database/", pooler.check_connection, database.DATABASE),
    Check(versions.MIGRATIONS, "/docs/operate/upgrade/", versions.check_migrations, database.DATABASE),
    Check(database.DISK, "/docs/operate/disk_full/", database.check_disk, versions.MIGRATIONS),
    Check(alerts.ACCOUNT_ALERTS, "/docs/operate/alerts/", alerts.check_account_alerts, versions.MIGRATIONS),
    Check(
        IDS,
        "/docs/operate/backup/#after-each-restore",
        _with_database(lambda opened, _: stored_rows.jump_ids(opened)),
        versions.MIGRATIONS,
        applies=lambda examined: examined.after_restore,
    ),
    Check(roles.ROLES, "/docs/guides/share_database/", roles.check_roles, database.DATABASE),
    Check(roles.GRANTS, "/docs/guides/share_database/", roles.check_grants, versions.MIGRATIONS),
    Check(pooler.SUBJECT, "/docs/operate/database/#pgbouncer", pooler.check_pooler, pooler.CONNECTION),
    Check(
        server_settings.SUBJECT,
        "/docs/operate/postgres_settings/",
        server_settings.check_server_settings,
        database.DATABASE,
    ),
    Check(
        server_settings.SESSIONS,
        "/docs/operate/postgres_settings/#settings-of-sessions",
        server_settings.check_session_settings,
        database.DATABASE,
    ),
    Check(
        sessions.SUBJECT,
        "/docs/explain/postgres/#a-long-transaction-stops-everything",
        sessions.check_old_snapshots,
        database.DATABASE,
    ),
    Check(
        sessions.LISTENING,
        "/docs/operate/unavailable/#notifications-are-lost",
        sessions.check_listeners,
        database.DATABASE,
    ),
    Check(database.CLOCK, "/docs/operate/clocks/", database.check_clock, database.DATABASE),
    Check(versions.VERSIONS, "/docs/operate/upgrade/", versions.check_running, database.DATABASE),
    Check(
        _ROWS,
        "/docs/operate/doctor/",
        _with_database(lambda opened, _: stored_rows.find_damage(opened)),
        versions.MIGRATIONS,
    ),
    Check(
        stored_rows.KEYS,
        "/docs/operate/access/#replace-the-encryption-key",
        _with_database(
            lambda opened, examined: stored_rows.find_unreadable_keys(opened, examined.settings.queue_encryption_key)
        ),
        versions.MIGRATIONS,
        applies=lambda examined: bool(examined.settings.queue_encryption_key),
    ),
    Check(
        _SUBSCRIPTIONS,
        "/docs/operate/policies/",
        _with_database(lambda opened, examined: stored_rows.find_refused_subscriptions(opened, fix=examined.fix)),
        versions.MIGRATIONS,
        applies=lambda examined: examined.settings.queue_access == "sigv4",
    ),
)
"""All checks, in the order in which they run."""

REASONS: Final = {
    database.DATABASE: "the service cannot use the database",
    pooler.CONNECTION: "the service cannot use DATABASE_URL",
    versions.MIGRATIONS: "the schema does not belong to this release",
}
"""Maps a check to the reason why the runner skips other checks if this check finds a problem."""


@dataclass(slots=True)
class CheckOutcome:
    """The result of an examination. `checked` contains the names of finished checks. `skipped` maps the names of
    skipped checks to reasons. `reasons` also contains the checks whose problems made the runner skip other checks.
    """

    findings: list[Finding] = field(default_factory=list)
    checked: list[str] = field(default_factory=list)
    skipped: dict[str, str] = field(default_factory=dict)
    reasons: dict[str, str] = field(default_factory=dict)

    @property
    def problems(self) -> int:
        """Returns the number of findings that are not only advice."""
        return sum(not finding.is_advice for finding in self.findings)


def examine(variables: Mapping[str, str], *, after_restore: bool = False, fix: bool = False) -> CheckOutcome:
    """Runs all checks. `variables` is the environment. Reports expected errors as findings.

    If `after_restore` is true, first raises the ids. If `fix` is true, ends subscriptions that no policy allows.
    """
    examined = Examination(find_usable_settings(variables), variables, after_restore=after_restore, fix=fix)
    try:
        examined.choose_database()
    except (SettingError, LocalError) as error:
        examined.address_problem = str(error)
    outcome = CheckOutcome()
    try:
        for check in CHECKS:
            if not check.applies(examined):
                continue
            if reason := outcome.reasons.get(check.needs):
                outcome.skipped[check.name] = outcome.reasons[check.name] = reason
            else:
                _run(outcome, check, examined)
    finally:
        examined.close()
    return outcome


def _run(outcome: CheckOutcome, check: Check, examined: Examination) -> None:
    """Runs a check and adds its findings. Adds a finding if the check raises an error."""
    found: list[Finding] = []
    try:
        found.extend(check.run(examined))
        outcome.checked.append(check.name)
    except (psycopg.Error, AwsError, SettingError) as error:
        cause = error.__cause__ if isinstance(error, AwsError) else None
        found.append(_failure(check.name, cause or error))
    outcome.findings.extend(finding._replace(page=finding.page or check.page) for finding in found)
    if found and check.name in REASONS:
        outcome.reasons[check.name] = REASONS[check.name]


def _failure(name: str, error: BaseException) -> Finding:
    reason = " ".join(str(error).split())
    if name == database.DATABASE and is_shortage(error):
        return Finding(
            name,
            f"the database has no free connection: {reason}",
            "the service answers 503 without it",
            "end unnecessary sessions, or raise PostgreSQL's `max_connections` or the size of PgBouncer's pool",
            page="/docs/operate/unavailable/#all-connections-are-busy",
        )
    if name == database.DATABASE:
        return Finding(
            name,
            f"no connection to the database: {reason}",
            "the service answers 503 without it",
            "connect to DATABASE_URL with `psql`; start PostgreSQL if it does not run",
        )
    return Finding(name, f"the check failed: {reason}", "", "fix the cause, then run `penstock doctor` again")
