"""Shows the stored events of an event bus, without an effect on subscribers, and publishes events."""

from collections.abc import Iterator
from typing import Final, NamedTuple

import msgspec
from fastapi import Response

from penstock.errors import AwsError
from penstock.events.publishing import ENVELOPE
from penstock.management.buses import events, operations
from penstock.management.buses.types import EventPage, NewBusEvent, StoredEvent
from penstock.management.rights import right_of
from penstock_web.console.buses.fields import check_json, parse_moment, read_utc
from penstock_web.console.forms import Form
from penstock_web.console.page import CurrentPage, Page
from penstock_web.console.paging import PAGE
from penstock_web.console.rendering import segment
from penstock_web.console.responses import ACCEPTED, Refusal, explain_refusal, redirect, show_page
from penstock_web.console.screen import act, screen

MAX_SHOWN_BYTES: Final = 32_768
"""The page shows this much of an event. `penstock buses events --json` shows the rest."""
MAX_PREVIEW_LENGTH: Final = 240
MAX_FILTER_LENGTH: Final = 4_096
EVENT_FIELDS: Final = {
    "data": "data", "Data": "data", "Detail": "data", "Entries": "data", "Source": "source", "source": "source",
    "detail_type": "detail_type", "group_id": "group", "deduplication_id": "dedup",
}  # fmt: skip
FILTERS: Final = ("from", "to", "group", "source", "detail_type", "pattern")


class Enveloped(msgspec.Struct):
    """The part of EventBridge's envelope that differs for each event."""

    detail: msgspec.Raw = msgspec.Raw(b"{}")


_enveloped = msgspec.json.Decoder(Enveloped)


class ShownEvent(NamedTuple):
    """An event with its data as text. `rest` is the number of bytes that the page omits."""

    event: StoredEvent
    preview: str
    text: str
    rest: int


@screen("/console/buses/{bus}/events", right=right_of(events.browse_events))
async def bus_events(bus: str, page: CurrentPage) -> Response:
    """Shows stored events by time, group, source, type and pattern. An invalid filter is shown with its fault."""
    given = {name: page.query.get(name, "").strip()[:MAX_FILTER_LENGTH] for name in FILTERS}
    order = page.query.read_choice("order", ("newest", "oldest"))
    after = page.query.get("after", "")
    wanted = events.WantedEvents(
        read_utc(given["from"]) or None, read_utc(given["to"]) or None, order == "newest", given["group"] or None,
        given["source"] or None, given["detail_type"] or None, given["pattern"] or None, PAGE, after or None,
    )  # fmt: skip
    fault, found, status = "", EventPage([]), 200
    try:
        found = await page.run(events.browse_events(bus, wanted, page.context))
    except AwsError as error:
        if not any(given.values()) and not after:
            raise
        refusal = explain_refusal(error, page.form, {})
        if refusal.status != 400:
            raise
        fault, status = refusal.problems[""].text, refusal.status
    return show_page(
        page, "bus_events.html", status, title=f"Events of {bus}", name=bus, given=given, order=order, after=after,
        events=list(_show_events(found)), following=found.next, size=PAGE, fault=fault, moment=parse_moment,
        is_filtered=any(given.values()),
    )  # fmt: skip


def _show_events(found: EventPage) -> Iterator[ShownEvent]:
    for event in found.events:
        data = bytes(event.data)
        shown = data[:MAX_SHOWN_BYTES]
        text = shown.decode(errors="replace")
        if shown == data:
            text = msgspec.json.format(text, indent=2)
        start = _find_content(event, data)[: 2 * MAX_PREVIEW_LENGTH]
        preview = " ".join(start.decode(errors="replace").split())
        cut = preview[:MAX_PREVIEW_LENGTH] + ("\u2026" if len(preview) > MAX_PREVIEW_LENGTH else "")
        yield ShownEvent(event, cut, text, len(data) - len(shown))


def _find_content(event: StoredEvent, data: bytes) -> bytes:
    """Returns what the preview shows: the detail of an event in EventBridge's envelope, and otherwise the data."""
    if event.content_type != ENVELOPE:
        return data
    return bytes(_enveloped.decode(data).detail)


@screen("/console/buses/{bus}/publish", right=right_of(events.publish))
async def publish_event_form(bus: str, page: CurrentPage) -> Response:
    """Shows the form of an event."""
    await _check_publisher(bus, page)
    return _show_publication(bus, page, Form(), ACCEPTED)


@act("/console/buses/{bus}/publish", right=right_of(events.publish))
async def publish_event(bus: str, page: CurrentPage) -> Response:
    """Publishes an event."""
    await _check_publisher(bus, page)
    try:
        await page.act(events.publish(bus, events.read_events(_build_event(page.form)), page.context))
    except AwsError as error:
        return _show_publication(bus, page, page.form, explain_refusal(error, page.form, EVENT_FIELDS))
    return redirect(f"/console/buses/{segment(bus)}?done=event")


async def _check_publisher(bus: str, page: Page) -> None:
    """Raises AccessDenied unless the user may publish both kinds of events on the bus."""
    found = await page.run(operations.find_bus(bus, page.context))
    for action in ("PutEvents", "PutRawEvents"):
        await page.run(operations.authorize_on(action, found.arn, page.context))


def _build_event(form: Form) -> bytes:
    """Returns the document of an event. Raises InvalidParameterValue for data that is not JSON."""
    text = form.get_text("data")
    check_json("data", text)
    data = msgspec.Raw(text.encode())
    new = NewBusEvent(
        source=form.get("source").strip() or None,
        detail_type=form.get("detail_type").strip() or None,
        group_id=form.get("group").strip() or None,
        deduplication_id=form.get("dedup").strip() or None,
    )
    if new.source is None and new.detail_type is None:
        new.data = data
    else:
        new.detail = data
    return msgspec.json.encode(new)


def _show_publication(bus: str, page: Page, form: Form, refusal: Refusal) -> Response:
    return show_page(
        page, "bus_publish.html", refusal.status, title=f"Publish on {bus}", name=bus, form=form,
        problems=refusal.problems,
    )  # fmt: skip
