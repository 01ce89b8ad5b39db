"""Shows, creates, changes and deletes event buses and their subscribers. Stops, resumes and replays subscribers."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Final, NamedTuple

import msgspec
from fastapi import Response

from penstock.access.authorization import check_anywhere
from penstock.documents.queue_names import build_queue_arn
from penstock.errors import AwsError, InvalidParameterValue
from penstock.management import bindings
from penstock.management.attention.concerns import Concern
from penstock.management.buses import changes, operations
from penstock.management.buses.types import (
    BusDescription,
    BusPatch,
    NewBus,
    Replay,
    SubscriberDescription,
    SubscriberPage,
)
from penstock.management.rights import SIGNED_IN, right_of
from penstock.management.verdicts import LEVELS
from penstock_web.console.buses.fields import (
    COLORS,
    Target,
    describe_target,
    fill_tags,
    parse_moment,
    read_changed_tags,
    read_number,
    read_utc,
)
from penstock_web.console.buses.subscriber_form import FIELDS as SUBSCRIBER_FIELDS
from penstock_web.console.buses.subscriber_form import fill, fill_filters, read_new, read_patch
from penstock_web.console.forms import FieldProblem, Form
from penstock_web.console.page import CurrentPage, Page
from penstock_web.console.paging import PAGE
from penstock_web.console.rendering import segment
from penstock_web.console.resources import (
    find_missing,
    list_bus_targets,
    list_queue_names,
    read_subscriber_concerns,
)
from penstock_web.console.responses import ACCEPTED, Refusal, explain_refusal, redirect, show_page
from penstock_web.console.screen import act, screen

BUS: Final = right_of(bindings.describe_bus, operations.list_subscribers)
EDIT: Final = right_of(operations.describe_bus, changes.change_bus)
ACTS: Final = ("UpdateEventBus", "DeleteEventBus", "CreateSubscriber", "PutEvents", "PutRawEvents")
FIELDS: Final = {
    "Name": "name", "Description": "description", "RetentionPeriodInDays": "days", "days": "days", "Tags": "tags",
    "tags": "tags",
}  # fmt: skip
"""The form's fields by the members of errors."""
EDIT_SUBSCRIBER: Final = right_of(operations.describe_subscriber, changes.change_subscriber)
POSITIONS: Final = {"": False, "last_processed": False, "latest": True}
"""Whether a resumed subscriber skips the events that it has missed."""


class State(NamedTuple):
    """The state of a bus or a subscriber, its style, and the reason."""

    word: str
    level: str
    text: str = ""


@screen("/console/buses", right=right_of(operations.list_buses), title="Buses", position=35)
async def buses(page: CurrentPage) -> Response:
    """Shows event buses by name. A page begins with the buses whose subscribers are in trouble."""
    after = page.query.get("after", "")
    found = await page.read(("buses", after), lambda: operations.list_buses(PAGE, after or None, page.context))
    states = find_worst(found.buses, await read_subscriber_concerns(page))
    return show_page(
        page, "buses.html", buses=sorted(found.buses, key=lambda row: rank_state(states.get(row.name))),
        following=found.next, after=after, moment=parse_moment, states=states,
        may_create=page.may_ever("events:CreateEventBus"), done=page.query.get("done", ""),
    )  # fmt: skip


def find_states(bus: str, concerns: Iterable[Concern]) -> dict[str, State]:
    """Returns the worst state of each of a bus's subscribers that need attention, by the words of the overview."""
    found: dict[str, State] = {}
    for one in sorted(concerns, key=lambda one: LEVELS.index(one.level), reverse=True):
        if one.bus == bus and one.subscriber is not None:
            found[one.subscriber] = State(one.state, one.level, one.text)
    return found


def rank_state(state: State | None) -> int:
    """Returns the sort key of a list that begins with trouble."""
    levels: tuple[str, ...] = LEVELS
    return levels.index(state.level) if state is not None and state.level in levels else len(levels)


def find_worst(found: Sequence[BusDescription], concerns: Sequence[Concern] | None) -> dict[str, State]:
    """Returns the state of the worst subscriber of each bus, or no state if the viewer may not read the concerns. A bus
    without subscribers has no state.
    """
    if concerns is None:
        return {}
    worst = {bus.name: State("ok", "good") for bus in found if bus.subscribers}
    for concern in sorted(concerns, key=lambda one: LEVELS.index(one.level), reverse=True):
        if concern.bus is not None:
            worst[concern.bus] = State(concern.state, concern.level)
    return worst


@screen("/console/buses-new", right=SIGNED_IN, title="New event bus")
async def new_bus(page: CurrentPage) -> Response:
    """Shows the form of a new bus to a user who can create any bus."""
    check_anywhere("events", "CreateEventBus", page.context)
    return _show_form(None, page, Form.filled({"days": "1"}), ACCEPTED)


@act("/console/buses", right=right_of(changes.create_bus))
async def create_bus_by_form(page: CurrentPage) -> Response:
    """Creates a bus."""
    form = page.form
    try:
        days = read_number(form, "days")
        new = NewBus(form.get("name").strip(), form.get("description").strip(), days or 1, form.get_tags())
        made = await page.act(changes.create_bus(new, page.context))
    except AwsError as error:
        return _show_form(None, page, form, explain_refusal(error, form, FIELDS))
    return redirect(f"/console/buses/{segment(made.name)}?done=bus")


@screen("/console/buses/{bus}", right=BUS)
async def bus(bus: str, page: CurrentPage) -> Response:
    """Shows a bus, its bindings and its subscribers. A page begins with the subscribers in trouble."""
    shown = await page.run(bindings.describe_bus(bus, page.context))
    after = page.query.get("after", "")
    listed = await page.run(operations.list_subscribers(bus, PAGE, after or None, page.context))
    states = find_states(bus, await read_subscriber_concerns(page) or ())
    listed.subscribers.sort(key=lambda row: rank_state(states.get(row.name)))
    return show_page(
        page, "bus.html", title=bus, bus=shown, listed=listed, after=after, moment=parse_moment, colors=COLORS,
        states=states, targets=await _list_targets(listed, page), done=page.query.get("done", ""),
        may={name: page.may(f"events:{name}", shown.arn) for name in ACTS}, reads=_may_browse(shown, page),
    )  # fmt: skip


async def _list_targets(listed: SubscriberPage, page: Page) -> dict[str, Target]:
    """Returns the targets by the subscribers' ARNs. Looks for a target only after it was missing."""
    found = {row.arn: describe_target(row.target, page.context) for row in listed.subscribers}
    for row in listed.subscribers:
        if row.last_failure is not None and row.last_failure.code == "RESOURCE_NOT_FOUND":
            found[row.arn] = await _find_target(row.target, page)
    return found


async def _find_target(arn: str, page: Page) -> Target:
    """Returns a target, without a path if it does not exist."""
    target = describe_target(arn, page.context)
    is_missing = bool(await page.run(find_missing(arn, page.context)))
    return target._replace(path="", is_missing=True) if is_missing else target


def _may_browse(shown: BusDescription, page: Page) -> bool:
    return page.may("penstock:ReplayEvents", shown.arn)


@screen("/console/buses/{bus}/change", right=EDIT)
async def change_bus_form(bus: str, page: CurrentPage) -> Response:
    """Shows the form of a bus."""
    shown = await page.run(operations.describe_bus(bus, page.context))
    await page.run(operations.authorize_on("UpdateEventBus", shown.arn, page.context))
    values = {
        "description": shown.description or "", "days": str(shown.retention_days), "version": shown.updated_at,
        **fill_tags(shown.tags),
    }  # fmt: skip
    return _show_form(shown, page, Form.filled(values), ACCEPTED)


@act("/console/buses/{bus}/change", right=right_of(changes.change_bus))
async def change_bus_by_form(bus: str, page: CurrentPage) -> Response:
    """Changes the description, the retention and the tags of a bus."""
    form = page.form
    try:
        days = read_number(form, "days")
        patch = BusPatch(
            form.get("description").strip(), msgspec.UNSET if days is None else days, read_changed_tags(form)
        )
        await page.act(changes.change_bus(bus, patch, page.context, form.get("version")))
    except AwsError as error:
        try:
            shown = await page.run(operations.describe_bus(bus, page.context))
        except AwsError:
            raise error from None
        return _show_form(shown, page, form, explain_refusal(error, form, FIELDS))
    return redirect(f"/console/buses/{segment(bus)}?done=saved")


@act("/console/buses/{bus}/delete", right=right_of(changes.delete_bus))
async def delete_bus_by_form(bus: str, page: CurrentPage) -> Response:
    """Deletes a bus with its events. The user must type the bus's name."""
    page.check_typed(bus, "deleted the event bus")
    await page.act(changes.delete_bus(bus, page.context))
    return redirect("/console/buses?done=deleted")


def _show_form(shown: BusDescription | None, page: Page, form: Form, refusal: Refusal) -> Response:
    title = "New event bus" if shown is None else f"Change {shown.name}"
    return show_page(
        page, "bus_form.html", refusal.status, title=title, shown=shown, form=form, problems=refusal.problems
    )


# --- subscribers -----------------------------------------------------------------------------------------------------
@screen("/console/buses/{bus}/subscribe", right=right_of(changes.create_subscriber))
async def new_subscriber(bus: str, page: CurrentPage) -> Response:
    """Shows the form of a new subscriber. `like` names a subscriber whose target, filters and configuration the form
    has, for a replay beside it."""
    found = await page.run(operations.find_bus(bus, page.context))
    await page.run(operations.authorize_on("CreateSubscriber", found.arn, page.context))
    values = {"start": "latest", "target": page.query.get("queue", "")}
    like = page.query.get("like", "")
    if like:
        shown = await page.run(operations.describe_subscriber(bus, like, page.context))
        values = {**fill(shown), "name": f"{like}-replay"[:256], "target": shown.target, "start": "oldest"}
    return await _show_subscriber_form(bus, None, page, Form.filled(values), ACCEPTED)


@act("/console/buses/{bus}/subscribe", right=right_of(changes.create_subscriber))
async def create_subscriber_by_form(bus: str, page: CurrentPage) -> Response:
    """Creates a subscriber."""
    try:
        new = read_new(page.form, page.context)
        if missing := await _find_missing(page, {}):
            return await _show_subscriber_form(bus, None, page, page.form, Refusal(400, missing))
        made = await page.act(changes.create_subscriber(bus, new, page.context))
    except AwsError as error:
        return await _show_subscriber_form(
            bus, None, page, page.form, explain_refusal(error, page.form, SUBSCRIBER_FIELDS)
        )
    return redirect(f"{_build_path(bus, made.name)}?done=subscriber")


@screen("/console/buses/{bus}/subscribers/{subscriber}", right=right_of(operations.describe_subscriber))
async def subscriber(bus: str, subscriber: str, page: CurrentPage) -> Response:
    """Shows a subscriber: its position, its outcomes, its last failure and its configuration."""
    shown = await page.run(operations.describe_subscriber(bus, subscriber, page.context))
    return await _show_subscriber(bus, shown, page, Form(), ACCEPTED)


async def _show_subscriber(
    bus: str, shown: SubscriberDescription, page: Page, form: Form, refusal: Refusal
) -> Response:
    may = {name: page.may(f"events:{name}Subscriber", shown.arn) for name in ("Update", "Delete", "Create")}
    failure_queue = (shown.configuration.get("OnFailureConfiguration") or {}).get("Arn")
    states = find_states(bus, await read_subscriber_concerns(page) or ())
    return show_page(
        page, "subscriber.html", refusal.status, title=shown.name, bus=bus, subscriber=shown, may=may,
        form=form, problems=refusal.problems, moment=parse_moment, colors=COLORS, filters=fill_filters(shown),
        target=await _find_target(shown.target, page), state=states.get(shown.name),
        may_replay=page.may("penstock:ReplayEvents"),
        failure_queue=None if failure_queue is None else await _find_target(failure_queue, page),
        done=page.query.get("done", ""),
    )  # fmt: skip


@screen("/console/buses/{bus}/subscribers/{subscriber}/change", right=EDIT_SUBSCRIBER)
async def change_subscriber_form(bus: str, subscriber: str, page: CurrentPage) -> Response:
    """Shows the form of a subscriber."""
    shown = await page.run(operations.describe_subscriber(bus, subscriber, page.context))
    await page.run(operations.authorize_on("UpdateSubscriber", shown.arn, page.context))
    return await _show_subscriber_form(
        bus, shown, page, Form.filled({**fill(shown), **fill_tags(shown.tags), "version": shown.updated_at}), ACCEPTED
    )


@act("/console/buses/{bus}/subscribers/{subscriber}/change", right=right_of(changes.change_subscriber))
async def change_subscriber_by_form(bus: str, subscriber: str, page: CurrentPage) -> Response:
    """Changes the filters, the configuration and the tags of a subscriber."""
    form = page.form
    try:
        patch = read_patch(form, page.context)
        shown = await page.run(operations.describe_subscriber(bus, subscriber, page.context))
        if missing := await _find_missing(page, fill(shown)):
            return await _show_subscriber_form(bus, shown, page, form, Refusal(400, missing))
        await page.act(changes.change_subscriber(bus, subscriber, patch, page.context, form.get("version")))
    except AwsError as error:
        try:
            shown = await page.run(operations.describe_subscriber(bus, subscriber, page.context))
        except AwsError:
            raise error from None
        return await _show_subscriber_form(bus, shown, page, form, explain_refusal(error, form, SUBSCRIBER_FIELDS))
    return redirect(f"{_build_path(bus, subscriber)}?done=saved")


@act("/console/buses/{bus}/subscribers/{subscriber}/pause", right=right_of(operations.set_stopped))
async def pause_subscriber(bus: str, subscriber: str, page: CurrentPage) -> Response:
    """Stops a subscriber."""
    await page.act(operations.set_stopped(bus, subscriber, page.context, stopped=True))
    return redirect(f"{_build_path(bus, subscriber)}?done=paused")


@act("/console/buses/{bus}/subscribers/{subscriber}/resume", right=right_of(operations.set_stopped))
async def resume_subscriber(bus: str, subscriber: str, page: CurrentPage) -> Response:
    """Lets a subscriber run again, with or without the events that it has missed."""
    position = page.form.get("position")
    if position not in POSITIONS:
        raise InvalidParameterValue("position must be last_processed or latest.")
    skips = POSITIONS[position]
    await page.act(operations.set_stopped(bus, subscriber, page.context, stopped=False, skips=skips))
    return redirect(f"{_build_path(bus, subscriber)}?done=resumed")


@act("/console/buses/{bus}/subscribers/{subscriber}/replay", right=right_of(operations.replay))
async def replay_to_subscriber(bus: str, subscriber: str, page: CurrentPage) -> Response:
    """Asks with the number of events, and then moves the position of a subscriber to a time or to the oldest event."""
    form = page.form
    start = Replay(operations.OLDEST if form.get("do") == operations.OLDEST else read_utc(form.get("from").strip()))
    try:
        if form.get("confirmed") != "yes":
            plan = await page.run(operations.plan_replay(bus, subscriber, start, page.context))
            return show_page(
                page, "replay.html", title=f"Replay to {subscriber}", bus=bus, subscriber=subscriber, plan=plan,
                form=form, target=await _find_target(plan.target, page), moment=parse_moment,
            )  # fmt: skip
        await page.act(operations.replay(bus, subscriber, start, page.context))
    except InvalidParameterValue as error:
        shown = await page.run(operations.describe_subscriber(bus, subscriber, page.context))
        return await _show_subscriber(bus, shown, page, form, explain_refusal(error, form, {"from": "from"}))
    return redirect(f"{_build_path(bus, subscriber)}?done=moved")


@act("/console/buses/{bus}/subscribers/{subscriber}/delete", right=right_of(changes.delete_subscriber))
async def delete_subscriber_by_form(bus: str, subscriber: str, page: CurrentPage) -> Response:
    """Deletes a subscriber. The user must type its name."""
    page.check_typed(subscriber, "deleted the subscriber")
    await page.act(changes.delete_subscriber(bus, subscriber, page.context))
    return redirect(f"/console/buses/{segment(bus)}?done=deleted")


async def _find_missing(page: Page, before: Mapping[str, str]) -> dict[str, FieldProblem]:
    """Returns the fields that name a missing queue or topic. A value that the user has not changed passes, so that a
    subscriber can change while its failure queue does not exist.
    """
    problems: dict[str, FieldProblem] = {}
    for field in ("target", "failure_queue"):
        text = page.form.get(field).strip()
        arn = text if ":" in text or not text else build_queue_arn(text, page.context)
        if arn != before.get(field) and (missing := await page.run(find_missing(arn, page.context))):
            problems[field] = FieldProblem(missing)
    return problems


async def _show_subscriber_form(
    bus: str, shown: SubscriberDescription | None, page: Page, form: Form, refusal: Refusal
) -> Response:
    title = f"Change {shown.name}" if shown is not None else "New subscriber"
    queues = await page.run(list_queue_names(page.context))
    return show_page(
        page, "subscriber_form.html", refusal.status, title=title, bus=bus, shown=shown, form=form, queues=queues,
        problems=refusal.problems, targets=() if shown else await page.run(list_bus_targets(page.context)),
    )  # fmt: skip


def _build_path(bus: str, subscriber: str) -> str:
    return f"/console/buses/{segment(bus)}/subscribers/{segment(subscriber)}"
