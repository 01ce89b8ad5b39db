"""Shows, creates, changes, enables, disables and deletes event source mappings, and tests their filters."""

from typing import Final

import msgspec
from fastapi import Response

from penstock.access.resources import ANY, build_mapping_arn
from penstock.aws.json_text import decode_json
from penstock.documents.decoding import build_reader
from penstock.documents.times import parse_timestamp
from penstock.errors import AwsError, InvalidParameterValue
from penstock.event_sources.checks import DEFAULT_BATCH
from penstock.management import mappings as management
from penstock.management.mappings import MappingPatch, NewMapping, ShownMapping
from penstock.management.rights import right_of, show
from penstock_web.console.forms import Form, JsonFault, find_json_fault
from penstock_web.console.message_form import read_sample
from penstock_web.console.page import CurrentPage, Page
from penstock_web.console.paging import MAX_TROUBLED, put_first
from penstock_web.console.rendering import segment
from penstock_web.console.resources import list_queue_names
from penstock_web.console.responses import ACCEPTED, Refusal, explain_refusal, redirect, show_page
from penstock_web.console.screen import act, screen

MAX_QUEUE_ARN_LENGTH: Final = 2_048
RUNNING: Final = {"enabled": True, "disabled": False}
EDIT: Final = right_of(management.describe_mapping, management.change_mapping_settings)
FIELDS: Final = {
    "EventSourceArn": "queue", "QueueName": "queue", "queue": "queue",
    "FunctionName": "function", "function": "function",
    "BatchSize": "batch_size", "batch_size": "batch_size", "MaximumBatchingWindowInSeconds": "window_secs",
    "window_secs": "window_secs", "MaximumConcurrency": "max_concurrency", "max_concurrency": "max_concurrency",
    "FilterCriteria": "filters", "filters": "filters",
}  # fmt: skip
"""The form's fields by the members of errors."""

read_patch = build_reader(MappingPatch)


@screen("/console/mappings", right=right_of(management.list_mappings), title="Mappings", position=50)
async def mappings(page: CurrentPage) -> Response:
    """Shows mappings, first those that fail or were stopped, then all by id. If the URL names a queue, shows only the
    queue's mappings.
    """
    queue, after = page.query.get("queue", "").strip()[:MAX_QUEUE_ARN_LENGTH], page.query.get("after", "")[:36]
    found = await page.read(
        ("mappings", queue, after), lambda: management.list_mappings(queue or None, None, after or None, page.context)
    )
    listed = found.mappings
    if not after:
        troubled = await page.read(
            ("troubled mappings", queue),
            lambda: management.list_troubled_mappings(queue or None, MAX_TROUBLED, page.context),
        )
        listed = put_first(troubled, listed, lambda mapping: mapping.id)
    return show_page(
        page, "mappings.html", mappings=listed, following=found.next, queue=queue, after=after,
        may_create=page.may("lambda:CreateEventSourceMapping", build_mapping_arn(ANY, page.context)),
        done=page.query.get("done", ""),
    )  # fmt: skip


@screen("/console/mappings/new", right=right_of(management.create_mapping))
async def new_mapping(page: CurrentPage) -> Response:
    """Shows the form of a new mapping."""
    form = Form.filled({
        "queue": page.query.get("queue", ""), "batch_size": str(DEFAULT_BATCH), "window_secs": "0", "enabled": "1",
    })  # fmt: skip
    return await show_form(None, page, form, ACCEPTED)


@screen("/console/mappings/{mapping}", right=right_of(management.describe_mapping))
async def show_mapping(mapping: str, page: CurrentPage) -> Response:
    """Shows a mapping's settings and the results of its batches."""
    shown = await page.run(management.describe_mapping(mapping, page.context))
    arn = build_mapping_arn(mapping, page.context)
    patterns = [msgspec.json.format(msgspec.json.encode(pattern), indent=2).decode() for pattern in shown.filters]
    return show_page(
        page, "mapping.html", title=f"Mapping of {shown.queue}", mapping=shown, patterns=patterns,
        moment=parse_timestamp, done=page.query.get("done", ""),
        may_change=page.may("lambda:UpdateEventSourceMapping", arn),
        may_delete=page.may("lambda:DeleteEventSourceMapping", arn),
    )  # fmt: skip


@act("/console/mappings", right=right_of(management.create_mapping))
async def create_mapping(page: CurrentPage) -> Response:
    """Creates a mapping. With the button for a test, only tests the filters."""
    try:
        if page.form.get("do") != "test":
            made = await page.act(management.create_mapping(_read_new(page.form), page.context))
            return redirect(f"/console/mappings/{segment(made.id)}?done=mapped")
        result = await _test(page)
    except AwsError as error:
        return await show_form(None, page, page.form, explain_refusal(error, page.form, FIELDS))
    return await show_form(None, page, page.form, ACCEPTED, result)


@screen("/console/mappings/{mapping}/change", right=EDIT)
async def change_mapping_form(mapping: str, page: CurrentPage) -> Response:
    """Shows the form of a mapping's settings."""
    shown = await page.run(management.describe_mapping(mapping, page.context))
    form = Form.filled({
        "function": shown.function, "batch_size": str(shown.batch_size), "window_secs": str(shown.window_secs),
        "max_concurrency": str(shown.max_concurrency or ""), "report_failures": "1" if shown.report_failures else "",
        "filters": "\n".join(msgspec.json.encode(pattern).decode() for pattern in shown.filters),
        "version": shown.updated_at,
    })  # fmt: skip
    return await show_form(shown, page, form, ACCEPTED)


@act("/console/mappings/{mapping}/change", right=right_of(management.change_mapping_settings))
async def change_mapping(mapping: str, page: CurrentPage) -> Response:
    """Changes a mapping's settings. With the button for a test, only tests the filters."""
    try:
        if page.form.get("do") != "test":
            patch, version = _read_patch(page.form), page.form.get("version")
            await page.act(management.change_mapping_settings(mapping, patch, version, page.context))
            return redirect(f"/console/mappings/{segment(mapping)}?done=saved")
        result = await _test(page)
    except AwsError as error:
        try:
            shown = await page.run(management.describe_mapping(mapping, page.context))
        except AwsError:
            raise error from None
        return await show_form(shown, page, page.form, explain_refusal(error, page.form, FIELDS))
    shown = await page.run(management.describe_mapping(mapping, page.context))
    return await show_form(shown, page, page.form, ACCEPTED, result)


@act("/console/mappings/{mapping}/state", right=right_of(management.set_mapping_state))
async def set_mapping_state(mapping: str, page: CurrentPage) -> Response:
    """Enables or disables a mapping."""
    state = page.form.get("state")
    if state not in RUNNING:
        raise InvalidParameterValue("state must be enabled or disabled.")
    operation = management.set_mapping_state(mapping, enabled=RUNNING[state], context=page.context)
    await page.act(operation)
    return redirect(f"/console/mappings/{segment(mapping)}?done={state}")


@act("/console/mappings/{mapping}/delete", right=right_of(management.delete_mapping))
async def delete_mapping(mapping: str, page: CurrentPage) -> Response:
    """Deletes a mapping."""
    await page.act(management.delete_mapping(mapping, page.context))
    return redirect("/console/mappings?done=unmapped")


# --- forms -----------------------------------------------------------------------------------------------------------
async def show_form(
    shown: ShownMapping | None, page: Page, form: Form, refusal: Refusal, result: bool | None = None
) -> Response:
    """Shows the form of a new or an existing mapping. `result` says whether the sample message passes the filters."""
    title = "New mapping" if shown is None else f"Mapping of {shown.queue}"
    queues = [] if shown is not None else await page.run(list_queue_names(page.context))
    others = await page.run(show(management.list_mappings(None, None, None, page.context)))
    functions = sorted({other.function.rpartition(":function:")[2] for other in (others.mappings if others else ())})
    return show_page(
        page, "mapping_form.html", refusal.status, title=title, shown=shown, queues=queues, functions=functions,
        form=form, problems=refusal.problems, result=result,
    )  # fmt: skip


def _read_new(form: Form) -> NewMapping:
    """Reads a new mapping from the form. Raises InvalidParameterValue."""
    document = {
        "queue": form.get("queue").strip(),
        "enabled": bool(form.get("enabled")),
        "max_concurrency": _number(form, "max_concurrency"),
        **_read_settings(form),
    }
    return management.read_mapping(msgspec.json.encode(document))


def _read_patch(form: Form) -> MappingPatch:
    """Reads the settings of a mapping from the form. Raises InvalidParameterValue."""
    document = {**_read_settings(form), "max_concurrency": _number(form, "max_concurrency")}
    return read_patch(msgspec.json.encode(document))


def _read_settings(form: Form) -> dict[str, object]:
    """Reads the settings that a new and an existing mapping share, without empty numbers."""
    numbers = {name: _number(form, name) for name in ("batch_size", "window_secs")}
    return {
        "function": form.get("function").strip(),
        "filters": [msgspec.Raw(pattern.encode()) for pattern in _read_patterns(form)],
        "report_failures": bool(form.get("report_failures")),
    } | {name: number for name, number in numbers.items() if number is not None}


def _read_patterns(form: Form) -> list[str]:
    """Returns the filters, one per line. Raises InvalidParameterValue with the place of a fault."""
    lines = form.get_text("filters").split("\n")
    for number, line in enumerate(lines, 1):
        fault = find_json_fault(line) if line.strip() else None
        if fault is None and line.strip() and not isinstance(decode_json(line), dict):
            fault = JsonFault('A filter is a JSON object, such as {"body": {"kind": ["order"]}}.', 1, 1)
        if fault is not None:
            raise InvalidParameterValue(
                f"filters: {fault.text}\n line: {number}, column: {fault.column}", member="filters"
            )
    return [line.strip() for line in lines if line.strip()]


async def _test(page: Page) -> bool:
    """Returns whether the sample message passes the filters."""
    await page.authorize()
    return await page.run(management.passes_filters(_read_patterns(page.form), read_sample(page.form)))


def _number(form: Form, name: str) -> int | None:
    """Parses a field as a number. Returns None for an empty field."""
    text = form.get(name).strip()
    if text and not (text.isascii() and text.isdigit() and len(text) <= 6):
        raise InvalidParameterValue(f"{name.replace('_', ' ')} must be a number.", member=name)
    return int(text) if text else None
