"""Encodes results and errors of the Query protocol to XML. The module compiles each writer once per type.

    <SendMessageResponse xmlns="…"><SendMessageResult>…</SendMessageResult><ResponseMetadata><RequestId>…

Flattened lists and maps repeat their element. One element wraps any other list or map (`names.Naming`). The writers
omit a member that is None, or empty and flattened. An action without a result has no Result element. The writers join
strings, which is five times faster than building a tree.
"""

from collections.abc import Callable
from functools import cache
from operator import attrgetter
from typing import Any

import msgspec

from penstock.errors import AwsError

from .schema import List, Map, Member, Scalar, Shape, Structure, read_structure

CONTENT_TYPE = b"text/xml"
# The response to a request without an action on a queue's URL. AWS ignores `Accept` in this case (recorded at AWS).
UNKNOWN_OPERATION = b"<UnknownOperationException/>\n"

Write = Callable[[Any, list[str]], None]

_HEAD = '<?xml version="1.0"?>'
_REPLACED = bytes(byte if byte in b"\t\n\r" or byte >= 32 else ord("?") for byte in range(256))


def escape_text(text: str) -> str:
    """Escapes character data. A carriage return becomes a reference, because a parser reads the plain character as a
    line feed. The reference has the form that SQS writes, because the parser of @aws-sdk/client-sqs before 3.447
    supports only this form.
    """
    if len(text) < 64 and text.isalnum():  # digits, digests, most names
        return text
    text = text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    return text.replace('"', "&quot;").replace("\r", "&#xD;")


def write_document(text: str) -> bytes:
    """Returns the document in UTF-8. Characters that XML 1.0 cannot contain become question marks.

    SQS refuses to store characters outside XML 1.0, but applications can send such characters through SQL. The search
    takes 1 µs per KB.
    """
    data = text.encode("utf-8", "replace").translate(_REPLACED)
    if text.isascii():
        return data
    return data.replace("\ufffe".encode(), b"?").replace("\uffff".encode(), b"?")


def encode_result(action: str, namespace: str, result: msgspec.Struct | None, request_id: str) -> bytes:
    """Returns the whole response of an action, in UTF-8."""
    out = [f'{_HEAD}<{action}Response xmlns="{namespace}">']
    if result is not None:
        out.append(f"<{action}Result>")
        build_writer(type(result))(result, out)
        if len(out) == 2:  # AWS writes a result without members as an empty element (recorded at AWS)
            out[1] = f"<{action}Result/>"
        else:
            out.append(f"</{action}Result>")
    out.append(f"<ResponseMetadata><RequestId>{request_id}</RequestId></ResponseMetadata></{action}Response>")
    return write_document("".join(out))


def encode_error(namespace: str, error: AwsError, request_id: str) -> bytes:
    """Returns `<ErrorResponse>` with type, code, message and the error's other members (Smithy, "AWS query protocol").
    Only SQS writes an empty element `Detail`."""
    more = "".join(f"<{name}>{escape_text(value)}</{name}>" for name, value in error.more_members.items())
    detail = "<Detail/>" if "queue.amazonaws.com" in namespace else ""
    return write_document(
        f'{_HEAD}<ErrorResponse xmlns="{namespace}"><Error><Type>{error.fault}</Type>'
        f"<Code>{escape_text(error.query_code)}</Code><Message>{escape_text(error.query_message)}</Message>{more}{detail}"
        f"</Error><RequestId>{request_id}</RequestId></ErrorResponse>"
    )


# --- writers ---------------------------------------------------------------------------------------------------------
@cache
def build_writer(message: type[msgspec.Struct]) -> Write:
    """Returns a function that appends a result's members to a list of strings."""
    return _write_structure(read_structure(message))


def _write_structure(shape: Structure) -> Write:
    members = [(attrgetter(member.attribute), _write_member(member)) for member in shape.members]

    def write(value: Any, out: list[str]) -> None:
        for read, write_member in members:
            member_value = read(value)
            if member_value is not None:
                write_member(member_value, out)

    return write


def _write_member(member: Member) -> Write:
    match member.shape:
        case List(item, naming):
            return _wrap_in_element(member.name, naming.flat, _list(naming.tag, item))
        case Map(value, naming):
            return _wrap_in_element(member.name, naming.flat, _map(naming.tag, naming.key, naming.value, value))
        case shape:
            return _write_element(member.name, shape)


def _wrap_in_element(name: str, flat: bool, content: Write) -> Write:
    if flat:
        return content

    def write(value: Any, out: list[str]) -> None:
        out.append(f"<{name}>")
        content(value, out)
        out.append(f"</{name}>")

    return write


def _list(tag: str, item: Shape) -> Write:
    element = _write_element(tag, item)

    def write(value: list[Any], out: list[str]) -> None:
        for entry in value:
            element(entry, out)

    return write


def _map(tag: str, key: str, value_name: str, shape: Shape) -> Write:
    head, middle, tail = f"<{tag}><{key}>", f"</{key}>", f"</{tag}>"
    if isinstance(shape, Scalar):
        between, end, text = f"</{key}><{value_name}>", f"</{value_name}></{tag}>", _TEXTS[shape.kind]
        return lambda value, out: out.extend(
            f"{head}{escape_text(name)}{between}{text(entry)}{end}" for name, entry in value.items()
        )
    element = _write_element(value_name, shape)

    def write(value: dict[str, Any], out: list[str]) -> None:
        for name, entry in value.items():
            out.append(f"{head}{escape_text(name)}{middle}")
            element(entry, out)
            out.append(tail)

    return write


def _write_element(name: str, shape: Shape) -> Write:
    head, tail = f"<{name}>", f"</{name}>"
    if isinstance(shape, Scalar):
        text = _TEXTS[shape.kind]
        return lambda value, out: out.append(f"{head}{text(value)}{tail}")
    if not isinstance(shape, Structure):
        raise TypeError(f"{name}: a list or map inside a list or map has no name in this protocol")
    content = _write_structure(shape)

    def write(value: Any, out: list[str]) -> None:
        out.append(head)
        content(value, out)
        out.append(tail)

    return write


def _write_boolean(value: bool) -> str:
    return "true" if value else "false"


_TEXTS: dict[type, Callable[[Any], str]] = {str: escape_text, int: str, bool: _write_boolean}
