"""Parses options' values. Each parser raises BadParameter for an invalid text."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime

import typer


def whole_number(least: int, most: int) -> Callable[[str | int], int]:
    """Returns a parser for whole numbers from `least` to `most`. typer also passes the option's default, an int."""

    def parse(value: str | int) -> int:
        text = str(value)
        if not text.isascii() or not text.isdigit() or not least <= int(text) <= most:
            raise typer.BadParameter(f"{text!r} is not a number from {least} to {most}")
        return int(text)

    return parse


def accept_only(*values: str) -> Callable[[str], str]:
    """Returns a parser that accepts only `values`."""

    def parse(text: str) -> str:
        if text not in values:
            raise typer.BadParameter(f"{text!r} is not {', '.join(values[:-1])} or {values[-1]}")
        return text

    return parse


def rfc_3339_time(text: str) -> datetime:
    """Parses an RFC 3339 time."""
    from penstock.documents.times import parse_timestamp

    if (time := parse_timestamp(text)) is None:
        raise typer.BadParameter(f"{text!r} is not a time such as 2030-01-31T09:00:00Z")
    return time


def json_or_text(text: str) -> object:
    """Returns JSON unchanged, so that 1.10 does not become 1.1. Returns any other text as a string."""
    import msgspec

    try:
        msgspec.json.decode(text)
    except msgspec.DecodeError:
        return text
    return msgspec.Raw(text.encode())


def json_object(text: str, option: str) -> object:
    """Returns a JSON object unchanged. Raises BadParameter with the position of the first error."""
    import msgspec

    try:
        found = msgspec.json.decode(text)
    except msgspec.DecodeError as error:
        raise typer.BadParameter(f"not JSON: {_first_mistake(text) or error}", param_hint=option) from None
    if not isinstance(found, dict):
        raise typer.BadParameter(f"{text!r} is not a JSON object", param_hint=option)
    return msgspec.Raw(text.encode())


def _first_mistake(text: str) -> str:
    """Describes the first error in a text that is not JSON. Uses Python's parser, which counts characters, whereas
    msgspec counts bytes. Returns "" if Python accepts the text, such as NaN.
    """
    import json

    try:
        json.loads(text)
    except json.JSONDecodeError as error:
        problem = f"{error.msg[:1].lower()}{error.msg[1:]}"
        if error.pos >= len(text.rstrip()):
            return f"the text ends after character {len(text)}: {problem}"
        return f"character {error.pos + 1}, {text[error.pos]!r}: {problem}"
    return ""
