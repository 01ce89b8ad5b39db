"""Sends edited copies of messages, and deletes the originals in the same transaction.

An edit changes one message in any way, and a replacement sets one value in the JSON bodies of up to 1,000 messages. A
copy is a new message with a new id and receive count. It keeps the original's attributes, group, deduplication id and
trace header, but not the attribute PenstockError, which describes the failure of the original. By default a dead letter
goes to the queue from which it came, and any other message to the end of its queue.

A message in flight stays, because its consumer can still delete it.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from difflib import get_close_matches
from functools import partial
from typing import Annotated, Final, NamedTuple
from uuid import UUID

import msgspec

from penstock import errors
from penstock.access.audit.acts import Act, audited
from penstock.aws.fifo_name import is_fifo_name
from penstock.calls import decode_texts, transpose
from penstock.context import Context
from penstock.documents.decoding import check_length_of_one, decode_body, decode_document, one_counter
from penstock.documents.queue_names import authorize_queues, build_queue_arn
from penstock.effects import Call, Operation, Wake, compute
from penstock.management.errors import BodyNotJson, DuplicateMessage, MessageInFlight, MessageNotFound
from penstock.management.rights import needs
from penstock.observing.reports import Deleted, Sent
from penstock.postgres.statements.messages import SendEntry
from penstock.postgres.statements.stored_messages import REPLACE_MESSAGES, FoundRow, ReplacedRow
from penstock.search.filters import MAX_NAMES, MessageFilter, Text
from penstock.search.messages import SCANNED, Search, search_messages
from penstock.sqs import failures, handles, sql_errors, validation
from penstock.sqs import send as sending
from penstock.sqs.types import MessageAttributeValue, SendMessageRequest

from .conversion import format_body, to_attribute
from .json_edit import is_json, list_paths, replace_value
from .reading import read_rows
from .search import After
from .types import UNDO_SECONDS, Headers, MessageId, PerSecond, Printable

MAX_REPLACED = 1_000
"""The number of messages that one replacement examines for its path."""
MESSAGES_PER_STEP = 100
IDS_PER_STEP = 20
STEP_BYTES = 4_000_000
MAX_STEPS = 12
"""The number of searches of one replacement. A search takes about 2 seconds at most."""
SAMPLES = 3
MAX_PATHS = 30
MAX_WANTED_LENGTH = 256

Name = Annotated[str, msgspec.Meta(min_length=1, max_length=80)]

MAX_AUDITED: Final = 200
"""The maximum number of characters of a path and of a value in the audit log."""
_attributes = msgspec.json.Decoder(dict[str, MessageAttributeValue])


# --- documents -------------------------------------------------------------------------------------------------------
class EditedMessage(msgspec.Struct, forbid_unknown_fields=True):
    """The edited copy of a message. An absent member keeps the original's value. `headers` replaces all headers, except
    the header `PenstockError`, which a copy never has.

    `to` is the target's name. By default, a dead letter returns to its source queue, and any other message stays in its
    queue.
    """

    message: msgspec.Raw
    headers: Headers | None = None
    to: Name | None = None
    group_id: Printable | None = None
    dedup_id: Printable | None = None


class Replacement(msgspec.Struct, forbid_unknown_fields=True):
    """Sets the value at `path` in the JSON bodies of messages, selected by `ids` or by `filter`, and sends the messages
    to `to`, as in `EditedMessage`. A text is split at its dots: `a.lines.0.sku`.

    A request examines up to 1,000 selected messages. To continue, send its `next` as `after`. With `preview`, nothing
    changes. `per_second` limits how many copies of this request become visible each second: all copies are stored at
    once, and the later ones have a delay.
    """

    path: Text | Annotated[list[Text], msgspec.Meta(min_length=1, max_length=MAX_NAMES)]
    value: msgspec.Raw
    ids: Annotated[list[MessageId], msgspec.Meta(min_length=1, max_length=MAX_REPLACED)] | None = None
    filter: MessageFilter | None = None
    to: Name | None = None
    per_second: PerSecond | None = None
    preview: bool = False
    after: After | None = None

    @property
    def names(self) -> list[str]:
        return self.path.split(".") if isinstance(self.path, str) else self.path


class ReplacedSample(msgspec.Struct):
    """A message before and after the replacement, and the name of its target."""

    id: int
    to: str
    before: str
    after: str


class ReplacementResult(msgspec.Struct):
    """The outcome of a replacement. In a preview, `replaced` counts the messages that would be replaced, and `samples`
    has up to three of them.

    `without_path` counts selected messages whose body has no such path. `stayed` has the other messages that stayed,
    with the reason and their number. `next` is null if all selected messages were examined. If no message of a preview
    has the path, `paths` has up to 30 paths of the first three bodies, those most like the wanted path first.
    """

    replaced: int
    without_path: int
    stayed: dict[str, int]
    looked_at: int
    next: str | None
    samples: list[ReplacedSample]
    paths: list[str]


_replacement = msgspec.json.Decoder(Replacement)
_edited = msgspec.json.Decoder(EditedMessage)


def read_replacement(body: bytes) -> Replacement:
    """Decodes the replacement of a request. Raises InvalidParameterValue."""
    return decode_document(_replacement, body)


def read_edited(body: bytes) -> EditedMessage:
    """Decodes the edited message of a request. Raises InvalidParameterValue and RequestEntityTooLarge."""
    check_length_of_one(body)
    return decode_body(_edited, body, one_counter)


class Edit(NamedTuple):
    """The changes of the copy. None keeps the original's value, and an empty group or deduplication id removes it.

    `is_any_text` allows a body that is not JSON for a message whose body is JSON.
    """

    body: str | None = None
    attributes: Mapping[str, MessageAttributeValue] | None = None
    to: str | None = None
    group_id: str | None = None
    deduplication_id: str | None = None
    is_any_text: bool = False


def to_edit(edited: EditedMessage) -> Edit:
    """Returns the edit of a document. Raises InvalidParameterValue and RequestEntityTooLarge."""
    attributes = None
    if edited.headers is not None:
        validation.check_number_of_attributes(len(edited.headers))
        attributes = {name: to_attribute(value) for name, value in edited.headers.items()}
    return Edit(format_body(edited.message), attributes, edited.to, edited.group_id, edited.dedup_id)


# --- one message -----------------------------------------------------------------------------------------------------
@needs("queue", "sqs:ReceiveMessage", "sqs:DeleteMessage")
def read_original(name: str, message_id: int, context: Context) -> Operation[FoundRow]:
    """Returns a message for an edit, as `read_message` does."""
    return (yield from read_message(name, message_id, context))


@needs("queue", "sqs:ReceiveMessage")
def read_message(name: str, message_id: int, context: Context) -> Operation[FoundRow]:
    """Returns a message in any state, without receiving it. Raises QueueDoesNotExist or MessageNotFound."""
    arn = build_queue_arn(name, context)
    return (yield from _read(arn, message_id, context))


def _read(arn: str, message_id: int, context: Context) -> Operation[FoundRow]:
    rows = yield from read_rows(arn, [message_id], context)
    if not rows:
        yield from handles.check_queue(arn)
        raise MessageNotFound
    return rows[0]


@needs("queue", "sqs:ReceiveMessage", "sqs:DeleteMessage")
def edit_message(name: str, message_id: int, edit: Edit, context: Context) -> Operation[int]:
    """Sends an edited copy and deletes the message in the same transaction. Returns the copy's id.

    Raises AccessDenied unless the caller can send to the target. Raises MessageNotFound, MessageInFlight,
    DuplicateMessage, BodyNotJson, and the errors of SendMessage. After an error, nothing has changed.
    """
    _, entry = yield from _read_and_edit(name, message_id, edit, context)
    (replaced,) = yield from _replace(name, entry.queue_arn, [message_id], [entry], {}, None, context)
    if replaced.error is not None or replaced.id is None:
        raise _build_error(replaced)
    return replaced.id


@needs("queue", "sqs:ReceiveMessage", "sqs:DeleteMessage")
def preview_edit(name: str, message_id: int, edit: Edit, context: Context) -> Operation[ReplacedSample]:
    """Returns the message as it is and as `edit_message` would send it. Changes nothing. Raises the errors that
    `edit_message` raises before it calls the database."""
    row, entry = yield from _read_and_edit(name, message_id, edit, context)
    return _show_sample(row, entry)


def _read_and_edit(name: str, message_id: int, edit: Edit, context: Context) -> Operation[tuple[FoundRow, SendEntry]]:
    row = yield from _read(build_queue_arn(name, context), message_id, context)
    target = edit.to or find_target(row, name, context)
    yield from authorize_queues("SendMessage", [target], context)
    arn = build_queue_arn(target, context)
    return row, (yield from compute(partial(_build_copy, row, arn, edit), len(edit.body or row.body)))


def find_target(row: FoundRow, name: str, context: Context) -> str:
    """Returns the name of the queue from which a dead letter of the queue `name` came, or `name` for another
    message."""
    source = (row.source_arn or "").rpartition(":")[2]
    return source if source and build_queue_arn(source, context) == row.source_arn else name


def copy_attributes(row: FoundRow) -> dict[str, MessageAttributeValue]:
    """Returns the attributes that a copy of the message keeps."""
    found = {} if row.attributes is None else _attributes.decode(row.attributes)
    return {name: value for name, value in found.items() if name != failures.ATTRIBUTE}


def read_deduplication_id(row: FoundRow) -> str | None:
    """Returns the deduplication id of a message in a FIFO queue."""
    return _read_system(row).get("MessageDeduplicationId")


def _read_system(row: FoundRow) -> dict[str, str]:
    return {} if row.system is None else decode_texts(row.system)


def _build_copy(row: FoundRow, arn: str, edit: Edit) -> SendEntry:
    """Returns the copy as an entry of SEND_MESSAGES. Raises BodyNotJson, and the errors of SendMessage."""
    body = row.body if edit.body is None else edit.body
    if not edit.is_any_text and edit.body is not None and is_json(row.body) and not is_json(body):
        raise BodyNotJson
    attributes = copy_attributes(row) if edit.attributes is None else dict(edit.attributes)
    attributes.pop(failures.ATTRIBUTE, None)
    deduplication_id = read_deduplication_id(row) if edit.deduplication_id is None else edit.deduplication_id
    request = SendMessageRequest(
        queue_url="",
        message_body=body,
        delay_seconds=None,  # The copy is visible at once.
        message_attributes=attributes or None,
        message_system_attributes=None,  # `build_message` gets the original's trace header below.
        message_group_id=(row.group_id if edit.group_id is None else edit.group_id) or None,
        message_deduplication_id=deduplication_id or None if is_fifo_name(arn) else None,
    )
    validation.check_message_size(sending.count_characters(request))
    entry = sending.build_message(request, arn, _read_system(row).get("AWSTraceHeader")).stored
    validation.check_message_size(entry.size_bytes)
    return entry


@audited(
    lambda name, target, ids, _entries, changed, deletion, _context: Act(
        "sqs:SendMessage",
        target,
        {**changed, **({"deletion": str(deletion)} if deletion else {}), "edited": ids, "from": name},
        counted="replaced",
    )
)
def _replace(
    name: str, target: str, ids: Sequence[int], entries: Sequence[SendEntry], _changed: Mapping[str, str | int],
    deletion: UUID | None, context: Context,
) -> Operation[list[ReplacedRow]]:  # fmt: skip
    """Replaces messages of the queue `name` with entries for the target, in one transaction. The audit log records the
    replaced messages, and the path and value in `_changed`. `undo_deletion` can undo a `deletion`."""
    source = build_queue_arn(name, context)
    columns = transpose(entries, len(SendEntry._fields))
    rows = yield from Call(REPLACE_MESSAGES, (source, list(ids), *columns, deletion))
    sizes = [entries[row.n - 1].size_bytes for row in rows if row.error is None]
    if sizes:
        yield Deleted(source, len(sizes))
        yield Sent(target, len(sizes), sizes)
        yield Wake(target, len(sizes))
    return rows


def _build_error(row: ReplacedRow) -> errors.AwsError:
    own = {"MessageNotFound": MessageNotFound, "MessageInFlight": MessageInFlight, "DuplicateMessage": DuplicateMessage}
    return own[row.error]() if row.error in own else sql_errors.build_sql_error(row.error or "", row.detail)


# --- many messages ---------------------------------------------------------------------------------------------------
class _Step(NamedTuple):
    """Messages that one read found. `gone` counts ids without a message, and `next` is where the next read begins."""

    rows: list[FoundRow]
    gone: int
    looked_at: int
    next: str | None


@needs("queue", "sqs:ReceiveMessage", "sqs:DeleteMessage")
def replace_in_messages(
    name: str, request: Replacement, context: Context, deletion: UUID | None = None
) -> Operation[ReplacementResult]:
    """Sets a value in the bodies of the selected messages and sends them to their targets. Messages of one step with
    the same target are replaced in one transaction, so a crash leaves each message in one of the two queues. If
    `deletion` is given, a new id, the copies stay invisible for 30 seconds, within which `undo_deletion` brings the
    originals back.

    Raises InvalidParameterValue, QueueDoesNotExist, and AccessDenied unless the caller can send to `request.to`. If
    the target is each message's source queue, messages whose source queue the caller cannot send to stay.
    """
    arn = build_queue_arn(name, context)
    _check(request)
    if request.to is not None:
        yield from authorize_queues("SendMessage", [request.to], context)
    result = ReplacementResult(0, 0, {}, 0, request.after, [], [])
    selected = 0
    for _ in range(MAX_STEPS if request.ids is None else MAX_REPLACED):
        step = yield from _read_step(arn, request, result.next, MAX_REPLACED - selected, context)
        yield from _replace_step(name, request, deletion, step.rows, result, context)
        selected += len(step.rows)
        result.looked_at += step.looked_at
        result.next = step.next
        if step.gone:
            _count(result, MessageNotFound(), step.gone)
        if step.next is None or selected >= MAX_REPLACED:
            break
    if request.preview:
        result.paths = [] if result.replaced else order_paths(result.paths, ".".join(request.names))
    return result


@needs("queue", "sqs:ReceiveMessage", "sqs:DeleteMessage")
def replace_in_message(
    name: str, message_id: int, request: Replacement, context: Context
) -> Operation[tuple[str, int]]:
    """Replaces the value in one message, whichever messages the request selects. Returns the name of the target and the
    copy's id.

    Raises InvalidParameterValue if the body has no such path or has the value already, and the errors of
    `edit_message`. After an error, nothing has changed.
    """
    _check(request)
    source = build_queue_arn(name, context)
    row = yield from _read(source, message_id, context)
    target = request.to or find_target(row, name, context)
    yield from authorize_queues("SendMessage", [target], context)
    arn = build_queue_arn(target, context)
    edited = yield from compute(partial(_edit_body, row, request, source, arn), len(row.body))
    if edited is None:
        raise errors.InvalidParameterValue("The message has no such path.")
    if isinstance(edited, errors.AwsError):
        raise edited
    (replaced,) = yield from _replace(name, arn, [message_id], [edited], _describe_change(request), None, context)
    if replaced.error is not None or replaced.id is None:
        raise _build_error(replaced)
    return target, replaced.id


def order_paths(paths: Sequence[str], wanted: str) -> list[str]:
    """Returns the paths, those most like the wanted path first."""
    closest = get_close_matches(wanted[:MAX_WANTED_LENGTH].lower(), [path.lower() for path in paths], len(paths) or 1)
    return sorted(paths, key=lambda path: closest.index(path.lower()) if path.lower() in closest else len(closest))


def _check(request: Replacement) -> None:
    if (request.ids is None) == (request.filter is None):
        raise errors.InvalidParameterValue("either ids or filter")
    if request.ids is not None and request.after is not None:
        raise errors.InvalidParameterValue("after: only with filter")
    if not is_json(bytes(request.value).decode()):
        raise errors.InvalidParameterValue("value: not JSON")


def _read_step(arn: str, request: Replacement, place: str | None, most: int, context: Context) -> Operation[_Step]:
    if request.ids is None:
        search = Search(arn, request.filter or MessageFilter(), place, min(MESSAGES_PER_STEP, most), SCANNED)
        found = yield from search_messages(search, STEP_BYTES, context)
        return _Step(found.rows, 0, found.looked_at, found.next)
    ids = list(dict.fromkeys(request.ids))
    first = int(place or 0)
    wanted = ids[first : first + IDS_PER_STEP]
    rows = yield from read_rows(arn, wanted, context)
    if not rows:
        yield from handles.check_queue(arn)
    following = first + IDS_PER_STEP
    return _Step(rows, len(wanted) - len(rows), len(wanted), str(following) if following < len(ids) else None)


def _replace_step(
    name: str, request: Replacement, deletion: UUID | None, rows: Sequence[FoundRow], result: ReplacementResult,
    context: Context,
) -> Operation[None]:  # fmt: skip
    """Replaces the messages of one step, or counts them in a preview."""
    source = build_queue_arn(name, context)
    copies: dict[str, list[tuple[int, SendEntry]]] = {}
    refusals: dict[str, errors.AwsError | None] = {}
    for row in rows:
        target = request.to or find_target(row, name, context)
        if target not in refusals:
            refusals[target] = yield from _find_refusal(target, context)
        arn = build_queue_arn(target, context)
        edited = yield from compute(partial(_edit_body, row, request, source, arn), len(row.body))
        refusal = edited if isinstance(edited, errors.AwsError) else refusals[target]
        if edited is None:
            result.without_path += 1
            if request.preview and result.without_path <= SAMPLES:
                paths = yield from compute(partial(list_paths, row.body, MAX_PATHS), len(row.body))
                result.paths = list(dict.fromkeys([*result.paths, *paths]))[:MAX_PATHS]
        elif refusal is not None:
            _count(result, refusal)
        elif not isinstance(edited, errors.AwsError):
            copies.setdefault(arn, []).append((row.public_id, edited))
            _add_sample(result, request, row, edited)
    for together in copies.values():
        yield from _send_copies(name, together, request, deletion, result, context)


def _add_sample(result: ReplacementResult, request: Replacement, row: FoundRow, entry: SendEntry) -> None:
    if request.preview and len(result.samples) < SAMPLES:
        result.samples.append(_show_sample(row, entry))


def _show_sample(row: FoundRow, entry: SendEntry) -> ReplacedSample:
    return ReplacedSample(row.public_id, entry.queue_arn.rpartition(":")[2], row.body, entry.body.decode())


def _send_copies(
    name: str, copies: Sequence[tuple[int, SendEntry]], request: Replacement, deletion: UUID | None,
    result: ReplacementResult, context: Context,
) -> Operation[None]:  # fmt: skip
    """Replaces messages that have the same target, or counts them in a preview. Copies become visible after the time of
    the undo, at the request's rate."""
    if request.preview:
        result.replaced += len(copies)
        return
    held = UNDO_SECONDS if deletion else 0
    entries = [
        entry._replace(delay_seconds=held + ((result.replaced + n) // request.per_second if request.per_second else 0))
        for n, (_, entry) in enumerate(copies)
    ]
    ids = [message_id for message_id, _ in copies]
    arn, change = entries[0].queue_arn, _describe_change(request)
    for row in (yield from _replace(name, arn, ids, entries, change, deletion, context)):
        if row.error is None:
            result.replaced += 1
        else:
            _count(result, _build_error(row))


def _describe_change(request: Replacement) -> dict[str, str | int]:
    """Returns the path, the value and the rate for the audit log."""
    value = bytes(request.value).decode()
    return {
        "path": ".".join(request.names)[:MAX_AUDITED],
        "value": value if len(value) <= MAX_AUDITED else f"{value[:MAX_AUDITED]}\u2026",
        **({"per_second": request.per_second} if request.per_second else {}),
    }


def _edit_body(row: FoundRow, request: Replacement, source: str, target: str) -> SendEntry | errors.AwsError | None:
    """Returns the copy, the error that keeps the message where it is, or None if the body has no such path."""
    changed = replace_value(row.body, request.names, bytes(request.value).decode())
    if changed is None:
        return None
    if changed == row.body and source == target:
        return errors.InvalidParameterValue("The message has this value already.")
    try:
        return _build_copy(row, target, Edit(changed, is_any_text=True))
    except errors.AwsError as error:
        return error


def _find_refusal(target: str, context: Context) -> Operation[errors.AwsError | None]:
    """Returns the error of a caller who cannot send to the target."""
    try:
        yield from authorize_queues("SendMessage", [target], context)
    except errors.AwsError as error:
        return error
    return None


def _count(result: ReplacementResult, error: errors.AwsError, number: int = 1) -> None:
    """Counts messages that stayed because of an error."""
    result.stayed = dict(Counter(result.stayed) + Counter({error.message: number}))
