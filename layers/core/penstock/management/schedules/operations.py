"""Writes, reads, runs and previews schedules. The REST API creates schedules only in the schedule group `default`.
The other operations also take schedules of other groups, whose key is `GROUP:NAME`.

Computing an occurrence takes up to a millisecond. Therefore operations on many schedules let other requests run
meanwhile.
"""

from collections.abc import Collection, Mapping, Sequence
from datetime import datetime
from functools import partial
from typing import NamedTuple

from msgspec import UNSET, UnsetType

from penstock import errors
from penstock.access.audit.acts import Act, audited
from penstock.access.authorization import check_user, is_user_allowed
from penstock.access.quotas import check_quota, is_reached
from penstock.access.resources import ANY
from penstock.aws.schedule_arn import DEFAULT_GROUP, split_schedule_key
from penstock.calls import encode_jsonb
from penstock.context import Context
from penstock.documents.queue_names import authorize_queues, build_queue_arn
from penstock.documents.times import format_time
from penstock.effects import Call, Operation, Pause, compute
from penstock.management import routed_events
from penstock.management.errors import ScheduleConflict, ScheduleNotFound
from penstock.management.rights import build_schedule_arn, needs
from penstock.postgres.statements.installation import DELETED_QUEUES
from penstock.postgres.statements.schedules import (
    DROP_SCHEDULE,
    LIST_PRUNABLE_SCHEDULES,
    LIST_SCHEDULE_RUNS,
    LIST_SCHEDULES,
    PUT_SCHEDULE,
    RUN_SCHEDULE,
    SYNC_SCHEDULES,
    PutMode,
)
from penstock.scheduler import rows as schedule_rows
from penstock.scheduler.rows import Period, StoredSchedule, read_row

from .checks import (
    apply_expression,
    build_new_fields,
    build_period,
    change_fields,
    check_name,
    check_period,
    list_period_columns,
    may_be_schedule_key,
    parse_time,
    read_expression,
)
from .types import (
    NewSchedule,
    NewTarget,
    Preview,
    PreviewRequest,
    RunPage,
    SchedulePage,
    SchedulePatch,
    ShownRun,
    ShownSchedule,
    ShownTarget,
    Synced,
    measure_size,
)
from .views import describe_problems, list_queue_message_ids, to_past_run, to_preview, to_shown_schedule

NAMES_PER_CALL = 1_000  # an operation that checks names reads this many names in one call
SCHEDULES_PER_TURN = 20  # an operation lets other requests run after this many schedules


class WrittenSchedule(NamedTuple):
    """A schedule, and whether the request created it. `schedule` is None if the caller cannot read it."""

    schedule: ShownSchedule | None
    created: bool


class PreparedSchedule(NamedTuple):
    """A schedule's fields, as JSON, and its next occurrence. A sync stores both."""

    fields: str
    next_fire_at: datetime | None


@needs("operation", "scheduler:CreateSchedule")
def create_schedule(new: NewSchedule, context: Context) -> Operation[ShownSchedule]:
    """Creates a schedule. Raises ScheduleConflict if the name is taken, ScheduleUnusable, and InvalidParameterValue."""
    check_schedules([new.name or ""], context, "CreateSchedule")
    shown, _ = yield from put_schedule(check_name(new.name or ""), "create", new, context)
    return shown


@needs("schedule", "scheduler:CreateSchedule", "scheduler:UpdateSchedule")
def replace_schedule(name: str, new: NewSchedule, context: Context) -> Operation[WrittenSchedule]:
    """Creates or replaces a schedule. Raises ScheduleUnusable, InvalidParameterValue."""
    if new.name not in (None, name):
        raise errors.InvalidParameterValue("body: name is not the name in the path")
    shown, created = yield from put_schedule(check_name(name), "replace", new, context)
    return WrittenSchedule(shown if created or may_read(name, context) else None, created)


@audited(
    lambda name, mode, _, context: Act(
        f"scheduler:{'Create' if mode == 'create' else 'Update'}Schedule",
        build_schedule_arn(name, context),
        when_changed=True,
    )
)
def put_schedule(name: str, mode: PutMode, new: NewSchedule, context: Context) -> Operation[tuple[ShownSchedule, bool]]:
    expression, fields = yield from compute(lambda: build_new_fields(new), measure_size(new))
    yield from authorize_targets([new.target], context)
    yield from check_quota("schedules", name, context, errors.OverLimit, DEFAULT_GROUP)
    now, _ = yield from schedule_rows.read(DEFAULT_GROUP, name, context)
    next_fire_at = schedule_rows.find_first_fire(mode, expression, now, build_period(fields), context)
    (written,) = yield from Call(PUT_SCHEDULE, (*group_key(context), name, mode, encode_jsonb(fields), next_fire_at))
    if written.error is not None:
        raise ScheduleConflict(f"Schedule '{name}' exists already")
    row = read_row(written.schedule)
    shown = to_shown_schedule(row, count_previews(context))
    found = yield from find_warnings({name: new.target}, context)
    shown.warning = join_warnings(*found, *describe_problems(row, now))
    return shown, written.created


@needs("schedule", "scheduler:UpdateSchedule")
@audited(lambda name, _, context: Act("scheduler:UpdateSchedule", build_schedule_arn(name, context), when_changed=True))
def change_schedule(name: str, changes: SchedulePatch, context: Context) -> Operation[ShownSchedule | None]:
    """Changes a schedule and returns it. Raises ScheduleNotFound, ScheduleConflict, ScheduleUnusable."""
    now, row = yield from find_schedule(name, context)
    fields = yield from compute(lambda: change_fields(row, changes), measure_size(changes))
    if isinstance(changes.target, NewTarget):
        yield from authorize_targets([changes.target], context)
    period = build_period(list_period_columns(row) | fields)
    next_fire_at = schedule_rows.next_fire(apply_expression(row, fields), now, period)
    (written,) = yield from Call(
        PUT_SCHEDULE, (*schedule_key(name, context), "patch", encode_jsonb(fields), next_fire_at)
    )
    if written.error is not None:
        raise ScheduleNotFound.named(name)
    row = read_row(written.schedule)
    shown = to_shown_schedule(row, count_previews(context))
    targets = {name: changes.target} if isinstance(changes.target, NewTarget) else {}
    found = yield from find_warnings(targets, context)
    shown.warning = join_warnings(*found, *describe_problems(row, now))
    return shown if may_read(name, context) else None


@needs("schedule", "scheduler:DeleteSchedule")
@audited(lambda name, context: Act("scheduler:DeleteSchedule", build_schedule_arn(name, context)))
def delete_schedule(name: str, context: Context) -> Operation[None]:
    """Deletes a schedule. A missing schedule is ignored."""
    if may_be_schedule_key(name):
        yield from Call(DROP_SCHEDULE, schedule_key(name, context))


@needs("operation", "scheduler:CreateSchedule", "scheduler:UpdateSchedule", "scheduler:DeleteSchedule")
@audited(
    lambda new_schedules, prune, context: Act(
        "penstock:SyncSchedules",
        build_schedule_arn(ANY, context),
        {"names": [new.name for new in new_schedules], "prune": prune},
        counted="*",
    )
)
def sync_schedules(new_schedules: Sequence[NewSchedule], prune: bool, context: Context) -> Operation[Synced]:
    """Creates or replaces all schedules in one transaction. If `prune` is set, deletes all other schedules that the
    REST API created."""
    names = [check_name(new.name or "") for new in new_schedules]
    if len(set(names)) < len(names):
        raise errors.InvalidParameterValue("body: a name occurs twice")
    check_schedules(names, context, "CreateSchedule", "UpdateSchedule")
    if prune:
        yield from check_pruned(set(names), context)
    yield from authorize_targets([new.target for new in new_schedules], context)
    # If the quota is used up, a sync can only change existing schedules.
    if (yield from is_reached("schedules", "", context, DEFAULT_GROUP)):
        for name in names:
            yield from check_quota("schedules", name, context, errors.OverLimit, DEFAULT_GROUP)
    now, _ = yield from schedule_rows.read(DEFAULT_GROUP, "", context)
    fields: list[str] = []
    next_fire_at: list[datetime | None] = []
    for number, new in enumerate(new_schedules):
        prepared = yield from compute(partial(_prepare, number, new, now), measure_size(new))
        fields.append(prepared.fields)
        next_fire_at.append(prepared.next_fire_at)
        yield from yield_to_others(number)
    rows = yield from Call(SYNC_SCHEDULES, (context.account_id, context.region, names, fields, next_fire_at, prune))
    given = [row for row in rows if row.n is not None]
    warnings = yield from find_warnings(
        {name: new.target for name, new in zip(names, new_schedules, strict=True)}, context
    )
    # A caller who cannot read a schedule must not learn whether the given values are the stored values.
    hidden = {name for name in names if not may_read(name, context)}
    for row in given:
        if row.created or row.schedule["name"] not in hidden:
            problems = describe_problems(read_row(row.schedule), now)
            warnings += [f"{row.schedule['name']}: {problem}" for problem in problems]
    kept = [row.schedule["name"] for row in given if not row.changed and row.schedule["name"] not in hidden]
    return Synced(
        created=[row.schedule["name"] for row in given if row.created],
        updated=[row.schedule["name"] for row in given if not row.created and row.schedule["name"] not in kept],
        unchanged=kept,
        deleted=sorted(row.schedule["name"] for row in rows if row.n is None),
        warnings=warnings or UNSET,
    )


def check_schedules(names: Sequence[str], context: Context, *actions: str) -> None:
    """Raises AccessDenied unless the caller can perform the actions on all of these schedules."""
    for name in names:
        for action in actions:
            check_user("scheduler", action, build_schedule_arn(name, context), context)


def check_pruned(kept: Collection[str], context: Context) -> Operation[None]:
    """Raises AccessDenied unless the caller can delete all other schedules. The account's own keys always have the
    right.
    """
    if context.caller.principal.is_root:
        return
    last, is_complete = "", False
    while not is_complete:
        rows = yield from Call(LIST_PRUNABLE_SCHEDULES, (context.account_id, context.region, last, NAMES_PER_CALL))
        names = [row.name for row in rows]
        check_schedules([name for name in names if name not in kept], context, "DeleteSchedule")
        last, is_complete = max(names, default=""), len(names) < NAMES_PER_CALL


def find_warnings(targets: Mapping[str, NewTarget], context: Context) -> Operation[list[str]]:
    """Returns a sentence for each schedule with a missing queue.

    The keys of `targets` are the schedules' names.
    """
    arns = {
        name: build_queue_arn(target.queue, context) for name, target in targets.items() if target.queue is not None
    }
    missing = {row.arn for row in (yield from Call(DELETED_QUEUES, (sorted(set(arns.values())),)))} if arns else set()
    return [
        f"The queue '{targets[name].queue}' does not exist: each attempt of the schedule '{name}' fails, and the "
        "schedule is paused after `failure_threshold` failures in a row. Then somebody must create the queue and "
        "resume the schedule."
        for name, arn in arns.items()
        if arn in missing
    ]


def find_missing_queue(target: ShownTarget, context: Context) -> Operation[str | None]:
    """Returns the name of the target's queue if the queue is in the caller's account and does not exist."""
    arn = target.arn or "" if target.queue is UNSET else build_queue_arn(target.queue, context)
    if not arn.startswith(f"arn:aws:sqs:{context.region}:{context.account_id}:"):
        return None
    missing = yield from Call(DELETED_QUEUES, ([arn],))
    return arn.rpartition(":")[2] if missing else None


def authorize_targets(targets: Sequence[NewTarget], context: Context) -> Operation[None]:
    """Raises AccessDenied unless the caller can send the schedules' messages, as with EventBridge Scheduler."""
    if any(target.topic is not None for target in targets):
        check_user("penstock", "PublishEvent", ANY, context)
    queues = (target.queue for target in targets if target.queue is not None)
    yield from authorize_queues("SendMessage", queues, context)


def join_warnings(*warnings: str | None) -> str | UnsetType:
    return " ".join(filter(None, warnings)) or UNSET


def _prepare(number: int, new: NewSchedule, now: datetime) -> PreparedSchedule:
    """Prepares one schedule of a sync. Errors name the schedule."""
    try:
        expression, fields = build_new_fields(new)
    except errors.AwsError as error:
        error.message = f"schedule {number} ('{new.name}'): {error.message}"
        raise
    return PreparedSchedule(encode_jsonb(fields), schedule_rows.next_fire(expression, now, build_period(fields)))


def find_schedule(name: str, context: Context) -> Operation[tuple[datetime, StoredSchedule]]:
    """Returns the database's time, and the schedule. Raises ScheduleNotFound."""
    if not may_be_schedule_key(name):
        raise ScheduleNotFound.named(name)
    now, row = yield from schedule_rows.read(*split_schedule_key(name), context)
    if row is None:
        raise ScheduleNotFound.named(name)
    return now, row


@needs("schedule", "scheduler:GetSchedule")
def read_stored_schedule(name: str, context: Context) -> Operation[StoredSchedule]:
    """Returns a schedule's row, for a form that changes the schedule. Raises ScheduleNotFound."""
    _, row = yield from find_schedule(name, context)
    return row


@needs("schedule", "scheduler:GetSchedule")
def describe_schedule(name: str, context: Context) -> Operation[ShownSchedule]:
    """Returns a schedule as a document. Raises ScheduleNotFound."""
    _, row = yield from find_schedule(name, context)
    return to_shown_schedule(row, count_previews(context))


@needs("schedules", "scheduler:ListSchedules")
def list_schedules(
    status: str | None, target_kind: str | None, name_prefix: str | None, context: Context
) -> Operation[SchedulePage]:
    """Returns schedules in the order of their names, at most QUEUE_SCHEDULE_LIST_MAX.

    AWS's ListSchedules shows no messages. Therefore a schedule that the caller cannot read appears only by name.
    """
    if name_prefix and not may_be_schedule_key(name_prefix):
        return SchedulePage([])
    limit = context.environment.settings.queue_schedule_list_max
    rows = yield from Call(
        LIST_SCHEDULES, (*group_key(context), name_prefix or None, status, target_kind, None, None, None, limit)
    )
    schedules, unreadable = [], []
    for number, row in enumerate(rows):
        read = read_row(row.schedule)
        if may_read(read.name, context):
            schedules.append(to_shown_schedule(read, count_previews(context)))
        else:
            unreadable.append(read.name)
        yield from yield_to_others(number)
    return SchedulePage(schedules, unreadable or UNSET)


def may_read(name: str, context: Context) -> bool:
    """Returns whether the caller's policies allow GetSchedule on a schedule."""
    arn = build_schedule_arn(name, context)
    return context.caller.principal.is_root or is_user_allowed("scheduler", "GetSchedule", arn, context)


def yield_to_others(number: int) -> Operation[None]:
    """Lets other requests run after every SCHEDULES_PER_TURN schedules. `number` counts the schedules from 0."""
    if number % SCHEDULES_PER_TURN == SCHEDULES_PER_TURN - 1:
        yield from Pause(0)


@needs("account", "penstock:PreviewSchedule")
def preview_expression(request: PreviewRequest, context: Context) -> Operation[Preview]:
    """Explains an expression without storing it. Raises ScheduleUnusable."""
    expression = read_expression(request, request.timezone)
    start, end = parse_time("start_at", request.start_at), parse_time("end_at", request.end_at)
    check_period(Period(start, end))
    now, _ = yield from schedule_rows.read(DEFAULT_GROUP, "", context)
    return to_preview(expression, now, Period(start, end, start or now), request.count or count_previews(context))


@needs("schedule", "penstock:RunSchedule", "scheduler:GetSchedule")
@audited(lambda name, context: Act("penstock:RunSchedule", build_schedule_arn(name, context)))
def run_schedule(name: str, context: Context) -> Operation[ShownRun]:
    """Fires a schedule now, in one transaction. Raises ScheduleNotFound, and ScheduleConflict if the target refuses
    the message."""
    if not may_be_schedule_key(name):
        raise ScheduleNotFound.named(name)
    (fired,) = yield from Call(RUN_SCHEDULE, schedule_key(name, context))
    if fired.error == "NotFound":
        raise ScheduleNotFound.named(name)
    if fired.error is not None:
        raise ScheduleConflict(f"Schedule '{name}' cannot be run: {fired.detail}")
    queues = [sent["queue_name"] for sent in fired.message_ids if sent["queue_name"] is not None]
    yield from routed_events.wake_receives(build_queue_arn(queue, context) for queue in queues)
    return ShownRun(
        schedule_name=name,
        fired_at=format_time(fired.fired_at, "milliseconds"),
        scheduled_for=format_time(fired.scheduled_for),
        out_of_band=True,
        msg_ids=list_queue_message_ids(fired.message_ids),
    )


@needs("schedule", "scheduler:GetSchedule")
def list_runs(name: str, before: int | None, limit: int, context: Context) -> Operation[RunPage]:
    """Returns the outcomes of a schedule's occurrences, newest first. Raises ScheduleNotFound."""
    given = (*schedule_key(name, context), before, limit + 1)
    rows = (yield from Call(LIST_SCHEDULE_RUNS, given)) if may_be_schedule_key(name) else []
    if not rows:
        raise ScheduleNotFound.named(name)
    past = [to_past_run(name, row.run_id, row) for row in rows[:limit] if row.run_id is not None]
    return RunPage(past, past[-1].id if len(rows) > limit else UNSET)


def group_key(context: Context) -> tuple[str, str, str]:
    """Returns the account, region and group of the REST API's schedules."""
    return context.account_id, context.region, DEFAULT_GROUP


def schedule_key(key: str, context: Context) -> tuple[str, str, str, str]:
    """Returns the account, region, group and name of a schedule."""
    return context.account_id, context.region, *split_schedule_key(key)


def count_previews(context: Context) -> int:
    """Returns the number of future times of a schedule that the API shows."""
    return context.environment.settings.queue_schedule_preview_count
