"""Parses options' values. The parsers raise BadParameter for invalid texts."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime

import typer


def whole_number(least: int, most: int) -> Callable[[str | int], int]:
    """Returns a parser for whole numbers from `least` to `most`. typer also passes the default, an int, to this
    parser.
    """

    def parse(value: str | int) -> int:
        text = str(value)
        if not text.isascii() or not text.isdigit() or not least <= int(text) <= most:
            raise typer.BadParameter(f"{text!r} is not a number from {least} to {most}")
        return int(text)

    return parse


def accept_only(*values: str) -> Callable[[str], str]:
    """Returns a parser for one of these texts."""

    def parse(text: str) -> str:
        if text not in values:
            raise typer.BadParameter(f"{text!r} is not {', '.join(values[:-1])} or {values[-1]}")
        return text

    return parse


def rfc_3339_time(text: str) -> datetime:
    """Parses a time of RFC 3339."""
    from penstock.documents.times import parse_timestamp

    if (time := parse_timestamp(text)) is None:
        raise typer.BadParameter(f"{text!r} is not a time such as 2030-01-31T09:00:00Z")
    return time


def json_or_text(text: str) -> object:
    """Returns JSON unchanged, so that 1.10 stays 1.10. A text that is not JSON becomes a string."""
    import msgspec

    try:
        msgspec.json.decode(text)
    except msgspec.DecodeError:
        return text
    return msgspec.Raw(text.encode())


def json_object(text: str, option: str) -> object:
    """Returns the JSON object unchanged. Raises BadParameter, which names the character at which the JSON is
    invalid."""
    import msgspec

    try:
        found = msgspec.json.decode(text)
    except msgspec.DecodeError as error:
        raise typer.BadParameter(f"not JSON: {_first_mistake(text) or error}", param_hint=option) from None
    if not isinstance(found, dict):
        raise typer.BadParameter(f"{text!r} is not a JSON object", param_hint=option)
    return msgspec.Raw(text.encode())


def _first_mistake(text: str) -> str:
    """Returns the first error of a text that is not JSON, or "" for one of the few texts that Python accepts, such as
    NaN. msgspec's error would count bytes, and would say only "truncated" for an incomplete text.
    """
    import json

    try:
        json.loads(text)
    except json.JSONDecodeError as error:
        said = f"{error.msg[:1].lower()}{error.msg[1:]}"
        if error.pos >= len(text.rstrip()):
            return f"it ends after character {len(text)}: {said}"
        return f"character {error.pos + 1}, {text[error.pos]!r}: {said}"
    return ""
