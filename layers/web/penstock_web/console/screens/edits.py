"""Edits messages: one message in a form, or one value in many messages. The edited copies are sent, and the originals
are deleted in the same transaction. The REST API offers the same acts below /v1/queues/{name}/messages.
"""

import re
from collections.abc import Sequence
from typing import Final, NamedTuple
from uuid import uuid4

import msgspec
from fastapi import Response

from penstock.aws.fifo_name import is_fifo_name
from penstock.documents.queue_names import build_queue_arn
from penstock.errors import AwsError, InvalidParameterValue
from penstock.management.errors import BodyNotJson
from penstock.management.messages import editing
from penstock.management.messages.editing import Edit, ReplacedSample, Replacement, ReplacementResult
from penstock.management.messages.json_edit import find_type, is_json, list_paths
from penstock.management.rights import right_of, show
from penstock.postgres.statements.stored_messages import FoundRow
from penstock.sqs.failures import ATTRIBUTE
from penstock.sqs.validation import MAX_ATTRIBUTES
from penstock_web.console.forms import FieldProblem, Form, find_json_fault
from penstock_web.console.message_form import (
    Written,
    build_attributes,
    fill,
    find_change,
    indent,
    read_written,
)
from penstock_web.console.messages import ComparedLine, Seen, find, mark_lines, read_samples
from penstock_web.console.page import CurrentPage, Page
from penstock_web.console.resources import check_target, find_target_problems, list_queue_names
from penstock_web.console.responses import find_status, redirect, show_page
from penstock_web.console.screen import act, screen
from penstock_web.console.selection import (
    SAMPLES,
    Count,
    Selection,
    count_matches,
    describe,
    nothing_selected,
    parse_id,
    read_selection,
)
from penstock_web.console.undo import Undo, begin_undo, offer_undo

MAX_SAMPLE_LENGTH: Final = 16_384
MAX_SHOWN_PATH: Final = 80
"""The maximum length of a path in an error, in characters."""
MAX_SHOWN_VALUE: Final = 200
"""The maximum length of the new value above a preview, in characters."""


class Canary(NamedTuple):
    """The copy of the message that was sent first: its queue and its number there. `is_readable` says whether the user
    may see what becomes of the copy.
    """

    queue: str
    number: int
    is_readable: bool


# --- one message -----------------------------------------------------------------------------------------------------
@screen("/console/queues/{name}/messages/{message_id}/edit", right=right_of(editing.edit_message))
async def edit_form(name: str, message_id: str, page: CurrentPage) -> Response:
    """Shows the form, filled with the message. A dead letter's target is its source queue. Raises MessageNotFound."""
    row = await page.run(editing.read_original(name, parse_id(message_id), page.context))
    return await show_edit(page, name, message_id, fill(row, editing.find_target(row, name, page.context)), row)


@act("/console/queues/{name}/messages/{message_id}/edit", right=right_of(editing.edit_message))
async def edit(name: str, message_id: str, page: CurrentPage) -> Response:
    """Sends the edited copy and deletes the original, or only shows a preview. After an error, shows the form again
    with everything that the user has written. Asks before it sends a body that was JSON and no longer is.
    """
    written = read_written(page.form)
    row = None
    try:
        row = await page.run(editing.read_original(name, parse_id(message_id), page.context))
        change = Edit(
            find_change(row.body, written.body), build_attributes(written), written.to or None, written.group,
            written.dedup, page.form.get("any_text") == "yes",
        )  # fmt: skip
        if page.form.get("do") == "preview":
            sample = await page.run(editing.preview_edit(name, parse_id(message_id), change, page.context))
            return await show_edit(page, name, message_id, written, row, samples=[sample])
        await page.act(editing.edit_message(name, parse_id(message_id), change, page.context))
    except AwsError as error:
        return await show_edit(page, name, message_id, written, row, error)
    return redirect(read_selection(page.query).build_path(name, done="edited"))


async def show_edit(
    page: Page, name: str, message_id: str, written: Written, row: FoundRow | None, error: AwsError | None = None,
    samples: Sequence[ReplacedSample] = (),
) -> Response:  # fmt: skip
    """Shows the form. `row` is None if the message no longer exists. The address of the form carries the page from
    which the user came, because the form and a filter have fields of the same names.
    """
    seen = None if row is None else Seen(row, row.state)
    cause = seen.attributes.get(ATTRIBUTE) if seen else None
    asks = isinstance(error, BodyNotJson)
    return show_page(
        page, "edit.html", find_status(error), title=f"Edit message {message_id}", name=name, message_id=message_id,
        written=written, cause=cause and cause.text, asks=asks,
        problems=await find_target_problems(page, error, "to", written.to if row is not None else ""),
        selection=read_selection(page.query),
        fault=find_json_fault(written.body) if asks else None, most=MAX_ATTRIBUTES,
        is_indented=row is not None and indent(row.body) != row.body, fifo=is_fifo_name(written.to or name),
        queues=await page.run(list_queue_names(page.context)), samples=compare_samples(samples),
    )  # fmt: skip


# --- many messages ---------------------------------------------------------------------------------------------------
@screen("/console/queues/{name}/replace", right=right_of(editing.replace_in_messages))
async def replace_form(name: str, page: CurrentPage) -> Response:
    """Shows the form for the selected messages."""
    selection = read_selection(page.query)
    if selection.is_empty:
        return nothing_selected(name, selection)
    return await show_replace(page, name, selection)


@act("/console/queues/{name}/replace", right=right_of(editing.replace_in_messages))
async def replace(name: str, page: CurrentPage) -> Response:
    """Shows a preview. If the form's field `confirmed` is "yes", replaces the value in up to 1,000 messages, and shows
    the numbers. The user can undo this for 30 seconds. The field `one` is the id of a message that is sent first. The
    page then shows a preview of the others.
    """
    selection = read_selection(page.form)
    if selection.is_empty:
        return nothing_selected(name, selection)
    is_confirmed = page.form.get("confirmed") == "yes"
    canary = None
    try:
        await page.run(check_target(page.form.get("new_to").strip(), page.context))
        if page.form.get("one"):
            canary, selection = await send_one(name, selection, page)
            if selection.is_empty:
                return redirect(selection.build_path(name, done="edited"))
        request = build_replacement(selection, page, is_preview=not is_confirmed)
        if not is_confirmed:
            result = await page.run(editing.replace_in_messages(name, request, page.context))
            return await show_replace(page, name, selection, result, canary=canary)
        deletion = uuid4()
        result = await page.act(editing.replace_in_messages(name, request, page.context, deletion))
    except AwsError as error:
        return await show_replace(page, name, selection, error=error)
    undo = begin_undo(name, str(deletion), result.replaced, selection.build_path(name), "edited")
    return await show_replace(page, name, selection, result, undo=undo)


async def send_one(name: str, selection: Selection, page: Page) -> tuple[Canary, Selection]:
    """Replaces the value in one message. Returns the copy, and the selection without the message. Raises
    InvalidParameterValue and the errors of `edit_message`.
    """
    number = parse_id(page.form.get("one"))
    request = build_replacement(selection, page, is_preview=False)
    queue, copy = await page.act(editing.replace_in_message(name, number, request, page.context))
    may_read = page.may("sqs:ReceiveMessage", build_queue_arn(queue, page.context))
    return Canary(queue, copy, may_read), selection._replace(ids=[other for other in selection.ids if other != number])


def build_replacement(selection: Selection, page: Page, *, is_preview: bool) -> Replacement:
    """Reads the form. Raises InvalidParameterValue."""
    path = page.form.get("new_path").strip()
    if not path:
        raise InvalidParameterValue("Enter a path, such as order.id.")
    value = msgspec.Raw(read_new_value(page.form).encode())
    document: dict[str, object] = {"path": path, "value": value, "preview": is_preview}
    if selection.ids:
        document["ids"] = selection.ids
    else:
        document["filter"] = selection.wanted
    if to := page.form.get("new_to").strip():
        document["to"] = to
    if rate := page.form.get("rate").strip():
        document["per_second"] = int(rate) if rate.isascii() and rate.isdigit() and len(rate) < 10 else rate
    return editing.read_replacement(msgspec.json.encode(document))


def read_new_value(form: Form) -> str:
    """Returns the new value as JSON. A text that is not JSON, and every text with the field `as_text`, is a string."""
    text = form.get("new_value")
    return text if is_json(text) and form.get("as_text") != "yes" else msgspec.json.encode(text).decode()


def find_other_types(samples: Sequence[ReplacedSample], path: str, value: str) -> list[str]:
    """Returns the types of the samples' old values if none is that of the new value. A null has any type."""
    old = {find_type(sample.before, path.strip().split(".")) or "null" for sample in samples} - {"null"}
    return [] if find_type(value) in old else sorted(old)


async def show_replace(
    page: Page, name: str, selection: Selection, result: ReplacementResult | None = None,
    error: AwsError | None = None, *, undo: Undo | None = None, canary: Canary | None = None,
) -> Response:  # fmt: skip
    """Shows the form with the messages as they are, with a preview, or with a result, which has an `undo`."""
    number = Count(len(selection.ids)) if selection.ids else None
    before: Sequence[Seen] = ()
    if result is None:
        before = await read_first(page, name, selection)
        number = number or await page.run(show(count_matches(name, selection.wanted, page.context)))
    values = {key: page.form.get(key) for key in ("new_path", "new_value", "as_text", "new_to", "rate")}
    value = read_new_value(page.form)
    samples = result.samples if result else ()
    bodies = [sample.before for sample in samples] or [sample.row.body for sample in before]
    paths = list(dict.fromkeys(path for body in bodies for path in list_paths(body, editing.MAX_PATHS)))
    if not page.form.get("new_path"):
        values["new_path"] = find_named_path(before, paths)
    is_offered = undo is not None and undo.number > 0
    response = show_page(
        page, "replace.html", find_status(error), title=f"Edit messages of {name}", name=name, selection=selection,
        facts=await describe(name, selection, page), values=values, result=result, is_done=undo is not None,
        **({"undo": undo} if is_offered else {}),
        canary=canary, paths=paths,
        problems=await find_target_problems(page, error, "new_to", values["new_to"])
        | find_path_problem(result, values["new_path"]),
        number=number, before=before, queues=await page.run(list_queue_names(page.context)),
        samples=compare_samples(samples), most=editing.MAX_REPLACED, new_value=value[:MAX_SHOWN_VALUE],
        new_type=find_type(value), other_types=find_other_types(samples, values["new_path"], value),
    )  # fmt: skip
    if undo is not None and is_offered:
        response.headers.append("set-cookie", offer_undo(page, undo))
    return response


def find_named_path(samples: Sequence[Seen], paths: Sequence[str]) -> str:
    """Returns the longest path that the cause of the first sample names, or an empty text. A path without a dot counts
    only in quotes or after `$.`, because it can be an ordinary word.
    """
    cause = samples[0].attributes.get(ATTRIBUTE) if samples else None
    for path in sorted(paths if cause else (), key=len, reverse=True):
        word = re.escape(path)
        pattern = (
            rf"(?<![\w.])(\$\.)?{word}(?![\w.]*\w)"
            if "." in path
            else rf"([\"'`])(\$\.)?{word}\1|\$\.{word}(?![\w.]*\w)"
        )
        if cause and re.search(pattern, cause.text):
            return path
    return ""


def find_path_problem(result: ReplacementResult | None, path: str) -> dict[str, FieldProblem]:
    """Returns the problem of a path that no selected message has, with the most similar path of the first bodies."""
    if result is None or result.replaced or not result.without_path:
        return {}
    text = f"No examined message has the path {path.strip()[:MAX_SHOWN_PATH]}."
    return {"new_path": FieldProblem(text, suggestion=next(iter(result.paths), ""))}


async def read_first(page: Page, name: str, selection: Selection) -> Sequence[Seen]:
    """Returns up to three of the selected messages. A user who may not read messages sees none."""
    if selection.ids:
        return await page.run(show(read_samples(name, selection.ids[:SAMPLES], page.context))) or ()
    found = await page.run(show(find(name, selection.wanted, None, page.context)))
    return found.messages[:SAMPLES] if found else ()


def compare_samples(
    samples: Sequence[ReplacedSample],
) -> list[tuple[ReplacedSample, list[list[ComparedLine]]]]:
    """Returns the samples, each with the marked lines before and after."""
    return [
        (sample, mark_lines([indent(text)[:MAX_SAMPLE_LENGTH] for text in (sample.before, sample.after)]))
        for sample in samples
    ]
