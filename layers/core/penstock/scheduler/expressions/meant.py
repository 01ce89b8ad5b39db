"""Finds the expression that a text probably means, if the text has no form that a form of the console accepts."""

import re
from collections.abc import Iterator
from datetime import UTC

from . import cron, moments, rate, when
from .invalid import find_nearest, find_suggestion

EXAMPLES = ("every weekday at 9am", rate.EXAMPLES[0], "cron(0 9 ? * MON-FRI *)", moments.AWS_EXAMPLES[0])

_FORMS = ("rate", "cron", "at")
_CALL = re.compile(r"([a-z]+) *\(? *(.*?) *\)?", re.IGNORECASE | re.ASCII).fullmatch
_NUMBER_AND_UNIT = re.compile(r"([0-9]+) *([a-z]+)", re.IGNORECASE | re.ASCII).fullmatch
_MOMENT = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}[Tt ]?[0-9:]*", re.ASCII).fullmatch


def find_meant(text: str) -> str | None:
    """Returns an expression of EventBridge Scheduler, or a sentence, that a text probably means. Returns None if the
    text is similar to none."""
    suggestions = (find_suggestion(candidate, _read) for candidate in _list_candidates(text.strip()))
    return next((found for found in suggestions if found is not None), None)


def _list_candidates(text: str) -> Iterator[str]:
    if call := _CALL(text):
        name = find_nearest(call[1].lower(), _FORMS)
        if name is not None:
            yield f"{name}({call[2].lower() if name == 'rate' else call[2].upper()})"
    if found := _NUMBER_AND_UNIT(text):
        yield f"rate({found[1]} {found[2].lower()})"
    if _MOMENT(text):
        yield f"at({text.upper()})"
    if (converted := cron.convert_crontab(text)) is not None:
        yield converted
    yield text.removeprefix("@")


def _read(text: str) -> object:
    """Parses a sentence or an expression. Raises Flaw."""
    if text.startswith("rate("):
        return rate.read_rate(text)
    if text.startswith("at("):
        return moments.read_at(text, UTC)
    return cron.read_aws(text) if text.startswith("cron(") else when.convert_to_aws(text)
