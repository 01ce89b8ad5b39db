"""Shows, creates, enables, disables and deletes event source mappings."""

from typing import Final

import msgspec
from fastapi import Response

from penstock.access.resources import ANY, build_mapping_arn
from penstock.documents.times import parse_timestamp
from penstock.errors import InvalidParameterValue
from penstock.management import mappings as management
from penstock.management.mappings import NewMapping
from penstock.management.rights import right_of
from penstock_web.console.page import CurrentPage, Page
from penstock_web.console.rendering import segment
from penstock_web.console.responses import redirect, show_page
from penstock_web.console.screen import act, screen

MAX_QUEUE_ARN_LENGTH: Final = 2_048
RUNNING: Final = {"enabled": True, "disabled": False}


@screen("/console/mappings", right=right_of(management.list_mappings), title="Mappings", position=50)
async def mappings(page: CurrentPage) -> Response:
    """Shows mappings by id. If the URL names a queue, shows only the queue's mappings."""
    queue, after = page.query.get("queue", "").strip()[:MAX_QUEUE_ARN_LENGTH], page.query.get("after", "")[:36]
    found = await page.read(
        ("mappings", queue, after), lambda: management.list_mappings(queue or None, None, after or None, page.context)
    )
    return show_page(
        page, "mappings.html", mappings=found.mappings, following=found.next, queue=queue, after=after,
        may_create=page.may("lambda:CreateEventSourceMapping", build_mapping_arn(ANY, page.context)),
        done=page.query.get("done", ""),
    )  # fmt: skip


@screen("/console/mappings/{mapping}", right=right_of(management.describe_mapping))
async def mapping(mapping: str, page: CurrentPage) -> Response:
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
    """Creates a mapping."""
    new = _read_form(page)
    made = await page.act(management.create_mapping(new, page.context))
    return redirect(f"/console/mappings/{segment(made.id)}?done=mapped")


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


def _read_form(page: Page) -> NewMapping:
    """Reads a new mapping from the form. Raises InvalidParameterValue."""
    document = {
        "queue": page.form.get("queue").strip(),
        "function": page.form.get("function").strip(),
        "enabled": bool(page.form.get("enabled")),
        "batch_size": _number(page, "batch_size"),
        "window_secs": _number(page, "window_secs"),
        "max_concurrency": _number(page, "max_concurrency"),
        "filters": [msgspec.Raw(line.encode()) for line in page.form.get("filters").splitlines() if line.strip()],
        "report_failures": bool(page.form.get("report_failures")),
    }
    given = {name: value for name, value in document.items() if value is not None}
    return management.read_mapping(msgspec.json.encode(given))


def _number(page: Page, name: str) -> int | None:
    """Parses a field as a number. Returns None for an empty field."""
    text = page.form.get(name).strip()
    if text and not (text.isascii() and text.isdigit() and len(text) <= 6):
        raise InvalidParameterValue(f"{name.replace('_', ' ')} must be a number.")
    return int(text) if text else None
