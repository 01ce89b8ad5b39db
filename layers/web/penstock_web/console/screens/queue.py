"""Shows a queue in tabs: charts, receivers and settings. Creates, pauses, purges and deletes queues."""

from datetime import UTC, datetime, timedelta
from functools import partial
from typing import Final, NamedTuple

import msgspec
from fastapi import Response

from penstock.access.authorization import check_anywhere
from penstock.access.resources import build_arn
from penstock.context import Context
from penstock.documents.console_pages import ConsolePage
from penstock.documents.times import parse_timestamp
from penstock.effects import Compute, Operation
from penstock.errors import AwsError, InvalidParameterValue
from penstock.management.attention.reading import PAGES_OF_CAUSES
from penstock.management.bindings import read_senders
from penstock.management.metrics.operations import read_hours, read_minute_rows
from penstock.management.queues import (
    Attributes,
    NewQueue,
    create_queue,
    delete_queue,
    list_receivers,
    purge_queue,
    read_queue,
    set_paused,
)
from penstock.management.rights import SIGNED_IN, right_of
from penstock.management.verdicts import group_by_queue
from penstock.verdicts import Cause
from penstock_web.console.charts import Chart, History, build_charts, build_history
from penstock_web.console.forms import FieldProblem, Form
from penstock_web.console.page import CurrentPage, Page
from penstock_web.console.resources import list_queue_names
from penstock_web.console.responses import ACCEPTED, Refusal, explain_refusal, redirect, show_page
from penstock_web.console.screen import SCREENS, act, find_screen, screen
from penstock_web.console.snippets import queue_snippets
from penstock_web.report.advice import advice_on

SPANS: Final = {"1h": timedelta(hours=1), "6h": timedelta(hours=6), "24h": timedelta(hours=24)}
MONTH: Final = "30d"
MONTH_LENGTH: Final = timedelta(days=30)
MAX_SUBSCRIPTIONS: Final = 100
NEW_FIELDS: Final = {"QueueName": "name", "RedrivePolicy": "dead", "ContentBasedDeduplication": "content"}
"""The fields of the form of a new queue by the members of errors."""


REMEDIES: Final = {
    Cause.DEAD_LETTERS_WAIT: "Redrive or delete them",
    Cause.HANDLERS_FAIL: "Show the messages",
    Cause.POISON_GROUP: "Show the messages",
    Cause.ENDPOINT_DOWN: "Show the endpoints",
    Cause.MAPPING_STOPPED: "Show the mappings",
    Cause.FUNCTION_FAILS: "Show the mappings",
}
"""The texts of links to the pages on which a user can mend a cause."""


def read_charts(name: str, span: timedelta, context: Context) -> Operation[list[Chart]]:
    """Returns charts of the last `span`. Also reads the hour before, because the charts begin with the last known
    depth.
    """
    end = datetime.now(UTC).replace(second=0, microsecond=0)
    rows = yield from read_minute_rows(name, end - span - timedelta(hours=1), end, context)
    return build_charts(group_by_queue(rows).get(1, ()), end - span, end)


def read_history(name: str, context: Context) -> Operation[History]:
    """Returns charts of the metrics job's hourly results of the last 30 days."""
    end = datetime.now(UTC)
    rows = yield from read_hours(name, end - MONTH_LENGTH, end, context)
    return (yield from Compute(partial(build_history, rows, end - MONTH_LENGTH, end)))


@screen("/console/queues/{name}", right=right_of(read_queue))
async def queue(name: str, page: CurrentPage) -> Response:
    """Shows a queue's figures and charts. Charts of 30 days come from the metrics job, and charts of hours from the
    queue's minutes.
    """
    span = page.query.read_choice("span", (*SPANS, MONTH))
    context = page.context
    await page.refresh()
    now = await page.read(("queue", name), lambda: read_queue(name, context))
    history = None
    if span == MONTH:
        history = await page.read(("history", name), lambda: read_history(name, context))
        charts = history.charts
    else:
        charts = await page.read(("charts", name, span), lambda: read_charts(name, SPANS[span], context))
    return show_page(
        page, "queue.html", title=name, queue=now.queue, seen=now.seen, charts=charts, span=span, spans=[*SPANS, MONTH],
        history=history, remedy=find_remedy(page, name, now.seen.verdict.cause),
        advice=advice_on(now.seen.verdict), done=page.query.get("done", ""),
        count=page.query.get("n", ""), at=now.seen.facts.measured_at,
        may_send=page.may("sqs:SendMessage", now.queue.arn), paused=dict(now.queue.attributes).get("paused") == "true",
        may_pause=page.may("penstock:PauseQueue", now.queue.arn), may_map=page.may("lambda:ListEventSourceMappings"),
    )  # fmt: skip


def find_remedy(page: Page, name: str, cause: Cause | None) -> tuple[str, str] | None:
    """Returns the text and the address of a link to the page on which the viewer can mend a cause, or None."""
    if cause not in REMEDIES:
        return None
    to = PAGES_OF_CAUSES.get(cause, ConsolePage.FAILURES)
    known = {screen.path: screen for screen in SCREENS if screen.method == "GET"}
    is_shown = page.may_open(known[to.screen_path], name)
    return (REMEDIES[cause], to.build_path(name=name)) if is_shown else None


@screen("/console/queues/{name}/receivers", right=right_of(list_receivers))
async def receivers(name: str, page: CurrentPage) -> Response:
    """Shows the programs that received messages of the queue in the last day."""
    found = await page.read(("receivers", name), lambda: list_receivers(name, page.context))
    return show_page(
        page, "queue_receivers.html", title=f"Receivers of {name}", name=name, receivers=found, moment=parse_timestamp
    )


@screen("/console/queues/{name}/settings", right=right_of(read_queue, read_senders))
async def settings(name: str, page: CurrentPage) -> Response:
    """Shows a queue's attributes, its senders, code that uses it, and the forms that purge and delete it."""
    return await show_settings(name, page)


async def show_settings(name: str, page: Page, refused: str = "", refusal: Refusal = ACCEPTED) -> Response:
    """Shows the settings. `refused` is the form with the problem: `purge` or `delete`."""
    context = page.context
    await page.refresh()
    now = await page.read(("queue", name), lambda: read_queue(name, context))
    found = now.queue
    subscribed = await page.read(("subscribed", name), lambda: read_senders(name, MAX_SUBSCRIPTIONS, context))
    attributes = dict(found.attributes)
    return show_page(
        page, "queue_settings.html", refusal.status, title=f"Settings of {name}", queue=found, moment=parse_timestamp,
        redrive=read_redrive(attributes.pop("RedrivePolicy", "")), policy=indent_json(attributes.pop("Policy", "")),
        attributes=attributes, subscribed=subscribed, messages=now.seen.messages, at=now.seen.facts.measured_at,
        refused=refused, problems=refusal.problems, form=page.form, snippets=queue_snippets(name, context),
        done=page.query.get("done", ""), may_purge=page.may("sqs:PurgeQueue", found.arn),
        may_delete=page.may("sqs:DeleteQueue", found.arn), may_change=page.may("sqs:SetQueueAttributes", found.arn),
    )  # fmt: skip


class Redrive(NamedTuple):
    """A dead-letter queue."""

    arn: str
    name: str | None
    receives: str


def read_redrive(policy: str) -> Redrive | None:
    """Reads a RedrivePolicy. Returns None for an empty string."""
    if not policy:
        return None
    document = msgspec.json.decode(policy, type=dict[str, str | int])
    arn = str(document.get("deadLetterTargetArn", ""))
    return Redrive(arn, arn.rpartition(":")[2] or None, str(document.get("maxReceiveCount", "")))


def indent_json(text: str) -> str:
    """Indents JSON. Returns any other text unchanged."""
    try:
        return msgspec.json.format(text, indent=2) if text else ""
    except (msgspec.DecodeError, ValueError):
        return text


# --- acts ------------------------------------------------------------------------------------------
@screen("/console/queues-new", right=SIGNED_IN, title="New queue")
async def new_queue(page: CurrentPage) -> Response:
    """Shows the form of a new queue to a user who can create any queue."""
    check_anywhere("sqs", "CreateQueue", page.context)
    return await show_new(page, Form(), ACCEPTED)


async def show_new(page: Page, form: Form, refusal: Refusal) -> Response:
    """Shows the form of a new queue. `form` has what the user has typed."""
    return show_page(
        page, "queue_form.html", refusal.status, title="New queue", form=form, problems=refusal.problems,
        queues=await page.run(list_queue_names(page.context)),
    )  # fmt: skip


@act("/console/queues", right=right_of(create_queue))
async def create(page: CurrentPage) -> Response:
    """Creates a queue. Sets the RedrivePolicy if the form names a dead-letter queue."""
    try:
        made = await page.act(create_queue(read_new_queue(page), page.context))
    except AwsError as error:
        refusal = explain_refusal(error, page.form, NEW_FIELDS)
        return await show_new(page, page.form, refusal)
    return redirect(f"/console/queues/{made}?done=created")


def read_new_queue(page: Page) -> NewQueue:
    """Reads a new queue from the form."""
    attributes: Attributes = {"ContentBasedDeduplication": "true"} if page.form.get("content") else {}
    if dead := page.form.get("dead").strip():
        policy = {
            "deadLetterTargetArn": build_arn("sqs", dead, page.context),
            "maxReceiveCount": page.form.get("receives").strip() or "5",
        }
        attributes["RedrivePolicy"] = msgspec.json.encode(policy).decode()
    return NewQueue(name=page.form.get("name").strip(), fifo=bool(page.form.get("fifo")), attributes=attributes)


@act("/console/queues/{name}/purge", right=right_of(purge_queue))
async def purge(name: str, page: CurrentPage) -> Response:
    """Deletes every message. The user must type the queue's name."""
    if page.form.get("typed").strip() != name:
        return await refuse_typed(name, page, "purge")
    purged = await page.act(purge_queue(name, page.context))
    return redirect(f"/console/queues/{name}?done=purged&n={purged}")


@act("/console/queues/{name}/pause", right=right_of(set_paused))
async def pause_queue(name: str, page: CurrentPage) -> Response:
    """Pauses or resumes a queue."""
    wanted = page.form.get("status")
    if wanted not in ("paused", "active"):
        raise InvalidParameterValue("status must be paused or active.")
    await page.act(set_paused(name, paused=wanted == "paused", context=page.context))
    return redirect(f"/console/queues/{name}?done={'paused' if wanted == 'paused' else 'resumed'}")


@act("/console/queues/{name}/delete", right=right_of(delete_queue))
async def delete(name: str, page: CurrentPage) -> Response:
    """Deletes a queue with its messages. The user must type the queue's name."""
    if page.form.get("typed").strip() != name:
        return await refuse_typed(name, page, "delete")
    await page.act(delete_queue(name, page.context))
    return redirect("/console/queues?done=deleted")


async def refuse_typed(name: str, page: Page, form: str) -> Response:
    """Shows the form again because the typed text is not the queue's name. Raises InvalidParameterValue if the user may
    not open the page of the form.
    """
    text = f"The typed name is not {name}. Penstock has not changed the queue."
    if not page.may_open(find_screen(settings), name):
        raise InvalidParameterValue(text)
    return await show_settings(name, page, form, Refusal(400, {"typed": FieldProblem(text)}))
