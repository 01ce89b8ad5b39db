"""Reads and fills the fields of forms that send, edit or test a message."""

from typing import Final, NamedTuple

import msgspec

from penstock.errors import InvalidParameterValue
from penstock.management.messages.editing import copy_attributes, read_deduplication_id
from penstock.management.subscriptions import FilterSample
from penstock.postgres.statements.stored_messages import FoundRow
from penstock.sqs.types import MessageAttributeValue

from .forms import Form

MAX_PRETTY_LENGTH: Final = 200_000
"""The maximum length of a JSON body that a form indents."""


class Written(NamedTuple):
    """The fields as a user sees or has written them. `attributes` contains names, types and texts."""

    body: str = ""
    group: str = ""
    dedup: str = ""
    delay: str = ""
    to: str = ""
    attributes: tuple[tuple[str, str, str], ...] = ()


def fill(row: FoundRow, target: str = "") -> Written:
    """Returns the fields for a copy of a message."""
    return Written(
        indent(row.body),
        row.group_id or "",
        read_deduplication_id(row) or "",
        "",
        target,
        tuple(
            (name, value.data_type, value.string_value or value.binary_value or "")
            for name, value in copy_attributes(row).items()
        ),
    )


def read_written(form: Form) -> Written:
    """Reads the fields. Omits attributes that the user removes, and attributes without a name."""
    rows = zip(form.get_all("attribute"), form.get_all("type"), form.get_all("value"), strict=False)
    removed = set(form.get_all("remove"))
    kept = (
        (name.strip(), kind.strip() or "String", value)
        for number, (name, kind, value) in enumerate(rows)
        if name.strip() and str(number) not in removed
    )
    group, dedup, delay, to = (form.get(name).strip() for name in ("group", "dedup", "delay", "to"))
    return Written(unify_lines(form.get("body")), group, dedup, delay, to, tuple(kept))


def build_attributes(written: Written) -> dict[str, MessageAttributeValue]:
    """Returns the attributes by name. Raises InvalidParameterValue for a name that occurs twice."""
    found: dict[str, MessageAttributeValue] = {}
    for name, kind, text in written.attributes:
        if name in found:
            raise InvalidParameterValue(f"The attribute {name} occurs twice.")
        is_binary = kind.startswith("Binary")
        found[name] = MessageAttributeValue(
            data_type=kind, string_value=None if is_binary else text, binary_value=text if is_binary else None
        )
    return found


def unify_lines(text: str) -> str:
    """Returns the text with the line ends that browsers show. A form sends each line end as CR LF."""
    return text.replace("\r\n", "\n").replace("\r", "\n")


def indent(body: str) -> str:
    """Indents a JSON object or list. Returns any other text unchanged, and JSON that indenting would change, because it
    has lone surrogates."""
    if len(body) > MAX_PRETTY_LENGTH or not body.lstrip().startswith(("{", "[")):
        return body
    try:
        return msgspec.json.format(body, indent=2)
    except (msgspec.DecodeError, RecursionError, ValueError):
        return body


def find_change(original: str, written: str) -> str | None:
    """Returns the body to send, or None if the user did not change what the form showed. If the form indented the body,
    removes the blanks again."""
    shown = indent(original)
    if written == unify_lines(shown):
        return None
    if shown == original:
        return written
    try:
        return msgspec.json.format(written, indent=-1)
    except (msgspec.DecodeError, RecursionError, ValueError):
        return written


def read_sample(form: Form) -> FilterSample:
    """Returns the sample message, with which the form tests a filter."""
    rows = form.get_rows("attribute", "type", "value")
    return FilterSample(
        form.get("sample").replace("\r\n", "\n"),
        {name: MessageAttributeValue(kind.strip() or "String", value) for name, kind, value in rows},
    )
