"""Lists all checks in their order, and runs them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Final, NamedTuple

import psycopg

from penstock.errors import AwsError
from penstock.postgres.database import Database
from penstock.settings import SettingError
from penstock_web.local.chosen_database import choose_database, choose_folder
from penstock_web.local.encryption_key import with_encryption_key
from penstock_web.local.migrating import check_addresses
from penstock_web.local_error import LocalError

from . import database, own_settings, pooler, roles, server_settings, service, sessions, stored_rows, versions
from .examination import Examination, Finding

IDS: Final = "ids"
_ROWS: Final = "stored rows"
_SUBSCRIPTIONS: Final = "subscriptions"
_NO_SCHEMA: Final = "the schema does not belong to this release"


class Check(NamedTuple):
    """A check. `needs_schema` says that the check calls this release's functions. `needs_pooler` says that the check
    connects by DATABASE_URL even if DATABASE_DIRECT_URL is set.
    """

    name: str
    run: Callable[[Examination], Iterable[Finding]]
    needs_schema: bool = False
    needs_pooler: bool = False


CHECKS: Final = (
    Check(roles.ROLES, roles.check_roles),
    Check(roles.GRANTS, roles.check_grants, needs_schema=True),
    Check(pooler.SUBJECT, pooler.check_pooler, needs_pooler=True),
    Check(server_settings.SUBJECT, server_settings.check_server_settings),
    Check(server_settings.SESSIONS, server_settings.check_session_settings),
    Check(sessions.SUBJECT, sessions.check_old_snapshots),
    Check(database.CLOCK, database.check_clock),
    Check(versions.VERSIONS, versions.check_running),
)

PAGES: Final = {
    own_settings.SUBJECT: "/docs/reference/settings/",
    service.SUBJECT: "/docs/operate/unavailable/",
    database.DATABASE: "/docs/operate/unavailable/#the-database-does-not-answer",
    pooler.CONNECTION: "/docs/operate/database/",
    versions.MIGRATIONS: "/docs/operate/upgrade/",
    IDS: "/docs/operate/backup/#after-each-restore",
    roles.ROLES: "/docs/operate/database/",
    roles.GRANTS: "/docs/operate/database/",
    pooler.SUBJECT: "/docs/operate/database/#pgbouncer",
    server_settings.SUBJECT: "/docs/operate/postgres_settings/",
    server_settings.SESSIONS: "/docs/operate/postgres_settings/#settings-of-sessions",
    sessions.SUBJECT: "/docs/explain/postgres/#a-long-transaction-stops-everything",
    database.CLOCK: "/docs/operate/clocks/",
    versions.VERSIONS: "/docs/operate/upgrade/",
    _ROWS: "/docs/operate/doctor/",
    stored_rows.KEYS: "/docs/operate/access/#replace-the-encryption-key",
    _SUBSCRIPTIONS: "/docs/operate/policies/",
}
"""Maps each check's name to the page that explains it."""


@dataclass(slots=True)
class CheckOutcome:
    """An examination's result. `checked` has the finished checks' names. `skipped` has the skipped checks' names and
    the reasons.
    """

    findings: list[Finding] = field(default_factory=list)
    checked: list[str] = field(default_factory=list)
    skipped: dict[str, str] = field(default_factory=dict)

    @property
    def problems(self) -> int:
        """Returns the number of findings that are more than advice."""
        return sum(not finding.is_advice for finding in self.findings)


def examine(variables: Mapping[str, str], *, after_restore: bool = False, fix: bool = False) -> CheckOutcome:
    """Runs all checks. `variables` is the environment. Expected errors become findings.

    `after_restore` raises the ids first. `fix` ends subscriptions that no policy allows.
    """
    outcome = CheckOutcome()
    _run(outcome, own_settings.SUBJECT, lambda: own_settings.check_settings(variables))
    settings = own_settings.usable_settings(variables)
    try:
        check_addresses(settings)
        address = choose_database(settings)
        if not settings.direct_url:
            folder = choose_folder()
            settings = with_encryption_key(settings, folder)
            _run(outcome, service.SUBJECT, lambda: service.check_service(folder))
    except (SettingError, LocalError) as error:
        outcome.findings.append(Finding(database.DATABASE, str(error), page=PAGES[database.DATABASE]))
        return _skip_all(outcome, "there is no database")
    examined = Examination(settings, variables, address)
    try:
        _examine_database(outcome, examined, after_restore=after_restore, fix=fix)
    finally:
        examined.close()
    return outcome


def _examine_database(outcome: CheckOutcome, examined: Examination, *, after_restore: bool, fix: bool) -> None:
    if not _run(outcome, database.DATABASE, lambda: database.check_database(examined)):
        _skip_all(outcome, "the database cannot be used")
        return
    has_pooler = _run(outcome, pooler.CONNECTION, lambda: pooler.check_connection(examined))
    has_schema = _run(outcome, versions.MIGRATIONS, lambda: versions.check_migrations(examined))
    if has_schema and after_restore:
        _run(outcome, IDS, lambda: _with_database(examined, _find_jumps))
    for check in CHECKS:
        if reason := _find_reason(check, has_schema=has_schema, has_pooler=has_pooler):
            outcome.skipped[check.name] = reason
        else:
            _run(outcome, check.name, lambda check=check: check.run(examined))  # type: ignore[misc]
    if not has_schema:
        outcome.skipped[_ROWS] = _NO_SCHEMA
        return
    _run(outcome, _ROWS, lambda: _with_database(examined, stored_rows.find_damage))
    if key := examined.settings.queue_encryption_key:
        _run(
            outcome,
            stored_rows.KEYS,
            lambda: _with_database(examined, lambda opened: stored_rows.find_unreadable_keys(opened, key)),
        )
    if examined.settings.queue_access == "sigv4":
        _run(
            outcome,
            _SUBSCRIPTIONS,
            lambda: _with_database(examined, lambda opened: stored_rows.find_refused_subscriptions(opened, fix=fix)),
        )


def _find_reason(check: Check, *, has_schema: bool, has_pooler: bool) -> str:
    """Returns the reason to skip a check, or ""."""
    if check.needs_schema and not has_schema:
        return _NO_SCHEMA
    return "DATABASE_URL does not answer" if check.needs_pooler and not has_pooler else ""


def _run(outcome: CheckOutcome, name: str, check: Callable[[], Iterable[Finding]]) -> bool:
    """Adds a check's findings with its page, and returns whether there are none. A failed check counts as a problem."""
    found: list[Finding] = []
    try:
        found.extend(check())
        outcome.checked.append(name)
    except (psycopg.Error, AwsError, SettingError) as error:
        cause = error.__cause__ if isinstance(error, AwsError) else None
        found.append(_failure(name, " ".join(str(cause or error).split())))
    outcome.findings.extend(finding._replace(page=PAGES[name]) for finding in found)
    return not found


def _failure(name: str, reason: str) -> Finding:
    if name == database.DATABASE:
        return Finding(
            name,
            f"no connection to the database: {reason}",
            "the service answers 503 without it",
            "try the address of DATABASE_URL with `psql`; start PostgreSQL if it does not run",
        )
    return Finding(name, f"could not be checked: {reason}", "", "fix the cause, then run `penstock doctor` again")


def _skip_all(outcome: CheckOutcome, reason: str) -> CheckOutcome:
    for name in (versions.MIGRATIONS, *(check.name for check in CHECKS), _ROWS):
        outcome.skipped[name] = reason
    return outcome


def _with_database(examined: Examination, work: Callable[[Database], Iterable[Finding]]) -> Iterator[Finding]:
    opened = Database(examined.address, call_seconds=stored_rows.CALL_SECONDS)
    try:
        yield from work(opened)
    finally:
        opened.close()


def _find_jumps(opened: Database) -> Iterator[Finding]:
    stored_rows.jump_ids(opened)
    return iter(())
