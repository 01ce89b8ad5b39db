"""What the routes of schedules do: write, read, run, preview them. The REST API has the group `default` alone.

Occurrences are computed here, which takes up to a millisecond each: long lists of schedules let others run in between.
"""

from collections.abc import Generator, Sequence
from datetime import datetime
from typing import Any, NamedTuple

from msgspec import UNSET

from penstock import errors
from penstock.aws.schedule_arn import DEFAULT_GROUP
from penstock.context import Context
from penstock.effects import Effect, Pause, Sql
from penstock.postgres.statements import (
    DROP_SCHEDULE,
    LIST_SCHEDULE_RUNS,
    LIST_SCHEDULES,
    PUT_SCHEDULE,
    RUN_SCHEDULE,
    SYNC_SCHEDULES,
)
from penstock.scheduler import rows as schedule_rows
from penstock.scheduler.rows import ScheduleRow, row_of
from penstock.sns.topics import as_json
from penstock_web.native.errors import ScheduleConflict, ScheduleNotFound
from penstock_web.native.events import operations as publishing
from penstock_web.native.operations import arn_of

from .checks import (
    changed,
    checked_name,
    definition,
    expression_after,
    is_known_name,
    period_columns,
    period_of,
    read_expression,
)
from .documents import (
    NewSchedule,
    Preview,
    PreviewRequest,
    RunPage,
    SchedulePage,
    SchedulePatch,
    ShownRun,
    ShownSchedule,
    Synced,
)
from .views import ids_of, past_run, previewed, rfc_3339, shown

AT_A_STRETCH = 20  # schedules whose occurrences are computed before others may run


class Written(NamedTuple):
    """A schedule, and whether it was made now."""

    schedule: ShownSchedule
    created: bool


# --- writing ---------------------------------------------------------------------------------------------------------
def create(new: NewSchedule, context: Context) -> Generator[Effect, Any, ShownSchedule]:
    """Raises ScheduleConflict when the name is taken, ScheduleUnusable, InvalidParameterValue."""
    written = yield from put(checked_name(new.name or ""), "create", new, context)
    return written.schedule


def replace(name: str, new: NewSchedule, context: Context) -> Generator[Effect, Any, Written]:
    """The schedule, made or replaced. Raises ScheduleUnusable, InvalidParameterValue."""
    if new.name not in (None, name):
        raise errors.InvalidParameterValue("body: name is not the one of the path")
    return (yield from put(checked_name(name), "replace", new, context))


def put(name: str, mode: str, new: NewSchedule, context: Context) -> Generator[Effect, Any, Written]:
    expression, fields = definition(new)
    now, _ = yield from schedule_rows.read(DEFAULT_GROUP, name, context)
    following = schedule_rows.first_fire(mode, expression, now, period_of(fields), context)
    ((columns, created, error),) = yield Sql(
        PUT_SCHEDULE, (*place(context), name, mode, as_json(fields), following)
    )
    if error is not None:
        raise ScheduleConflict(f"Schedule '{name}' exists already")
    return Written(shown(row_of(columns), times(context)), created)


def patch(name: str, changes: SchedulePatch, context: Context) -> Generator[Effect, Any, ShownSchedule]:
    """The schedule after the changes. Raises ScheduleNotFound, ScheduleConflict, ScheduleUnusable."""
    now, row = yield from found(name, context)
    fields = changed(row, changes)
    period = period_of(period_columns(row) | fields)
    following = schedule_rows.next_fire(expression_after(row, fields), now, period)
    ((columns, _, error),) = yield Sql(
        PUT_SCHEDULE, (*place(context), name, "patch", as_json(fields), following)
    )
    if error is not None:
        raise ScheduleNotFound.named(name)
    return shown(row_of(columns), times(context))


def delete(name: str, context: Context) -> Generator[Effect, Any, None]:
    """Deletes a schedule; one that is not there is no error."""
    if is_known_name(name):
        yield Sql(DROP_SCHEDULE, (*place(context), name))


def sync(news: Sequence[NewSchedule], prune: bool, context: Context) -> Generator[Effect, Any, Synced]:
    """Makes or replaces all of them, in one transaction. `prune`: others that the REST API made are deleted."""
    names = [checked_name(new.name or "") for new in news]
    if len(set(names)) < len(names):
        raise errors.InvalidParameterValue("body: a name is there twice")
    now, _ = yield from schedule_rows.read(DEFAULT_GROUP, "", context)
    columns: list[tuple[str, datetime | None]] = []
    for number, new in enumerate(news):
        columns.append(_prepared(number, new, now))
        yield from yield_to_others(number)
    fields, following = [one[0] for one in columns], [one[1] for one in columns]
    rows = yield Sql(SYNC_SCHEDULES, (context.account_id, context.region, names, fields, following, prune))
    return Synced(
        created=[row["name"] for number, row, made in rows if number is not None and made],
        updated=[row["name"] for number, row, made in rows if number is not None and not made],
        deleted=sorted(row["name"] for number, row, _ in rows if number is None),
    )


def _prepared(number: int, new: NewSchedule, now: datetime) -> tuple[str, datetime | None]:
    """Fields and next occurrence of one of many. Errors say which one it is."""
    try:
        expression, fields = definition(new)
    except errors.AwsError as error:
        error.message = f"schedule {number} ('{new.name}'): {error.message}"
        raise
    return as_json(fields), schedule_rows.next_fire(expression, now, period_of(fields))


# --- reading ---------------------------------------------------------------------------------------------------------
def found(name: str, context: Context) -> Generator[Effect, Any, tuple[datetime, ScheduleRow]]:
    """The database's time, and the schedule. Raises ScheduleNotFound."""
    if not is_known_name(name):
        raise ScheduleNotFound.named(name)
    now, row = yield from schedule_rows.read(DEFAULT_GROUP, name, context)
    if row is None:
        raise ScheduleNotFound.named(name)
    return now, row


def describe(name: str, context: Context) -> Generator[Effect, Any, ShownSchedule]:
    """Raises ScheduleNotFound."""
    _, row = yield from found(name, context)
    return shown(row, times(context))


def page(
    status: str | None, target_kind: str | None, name_prefix: str | None, context: Context
) -> Generator[Effect, Any, SchedulePage]:
    """Schedules in the order of their names, at most QUEUE_SCHEDULE_LIST_MAX."""
    if name_prefix and not is_known_name(name_prefix):
        return SchedulePage([])
    limit = context.environment.settings.queue_schedule_list_max
    rows = yield Sql(
        LIST_SCHEDULES,
        (*place(context), name_prefix or None, status, target_kind, None, None, None, limit),
    )
    schedules = []
    for number, (_, columns) in enumerate(rows):
        schedules.append(shown(row_of(columns), times(context)))
        yield from yield_to_others(number)
    return SchedulePage(schedules)


def yield_to_others(number: int) -> Generator[Effect, Any, None]:
    """After every twentieth, others may run."""
    if number % AT_A_STRETCH == AT_A_STRETCH - 1:
        yield Pause(0)


def preview(request: PreviewRequest, context: Context) -> Generator[Effect, Any, Preview]:
    """What an expression means. Nothing is stored. Raises ScheduleUnusable."""
    expression = read_expression(request, request.timezone)
    now, _ = yield from schedule_rows.read(DEFAULT_GROUP, "", context)
    return previewed(expression, now, request.count or times(context))


# --- runs ------------------------------------------------------------------------------------------------------------
def run(name: str, context: Context) -> Generator[Effect, Any, ShownRun]:
    """Fires it now, in one transaction. Raises ScheduleNotFound, ScheduleConflict when its target refuses."""
    if not is_known_name(name):
        raise ScheduleNotFound.named(name)
    rows = yield Sql(RUN_SCHEDULE, (*place(context), name))
    scheduled_for, fired_at, ids, error, detail = rows[0]
    if error == "NotFound":
        raise ScheduleNotFound.named(name)
    if error is not None:
        raise ScheduleConflict(f"Schedule '{name}' cannot be run: {detail}")
    queues = [one["queue_name"] for one in ids if one["queue_name"] is not None]
    yield from publishing.wake(arn_of(queue, context) for queue in queues)
    return ShownRun(name, rfc_3339(fired_at, "milliseconds"), rfc_3339(scheduled_for), True, ids_of(ids))


def runs(name: str, before: int | None, limit: int, context: Context) -> Generator[Effect, Any, RunPage]:
    """What became of its occurrences, the newest first. Raises ScheduleNotFound."""
    given = (*place(context), name, before, limit + 1)
    rows = (yield Sql(LIST_SCHEDULE_RUNS, given)) if is_known_name(name) else []
    if not rows:
        raise ScheduleNotFound.named(name)
    past = [past_run(name, row) for row in rows[:limit] if row[0] is not None]
    return RunPage(past, past[-1].id if len(rows) > limit else UNSET)


# --- what all of them need -------------------------------------------------------------------------------------------
def place(context: Context) -> tuple[str, str, str]:
    """Account, region and group of the schedules of the REST API."""
    return context.account_id, context.region, DEFAULT_GROUP


def times(context: Context) -> int:
    """How many coming times are shown."""
    return context.environment.settings.queue_schedule_preview_count
