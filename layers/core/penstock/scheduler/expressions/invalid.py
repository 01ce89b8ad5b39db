"""Defines the errors of expressions, with a position, a suggestion and examples.

Parsers raise `Flaw`, which has one position and one correction. `raise_flaw` converts a `Flaw` to `ScheduleInvalid`,
which suggests a whole expression that parses. The error has no suggestion if no correction is certain.
"""

import re
from collections.abc import Callable
from typing import TypeVar

Result = TypeVar("Result")

MAX_EXPRESSION_LENGTH = 256
"""The maximum length of an expression (EventBridge Scheduler API reference, ScheduleExpression)."""

_REPAIRS = 6
_SURPLUS = re.compile(r"(?<=\()\s+|\s+(?=\)$)|\s{2,}|[\t\r\n]", re.ASCII).search
_FOREIGN = re.compile(r"[^\t\n\r -~]").search


class ScheduleInvalid(Exception):  # noqa: N818 - the name of the error in the API
    """An expression or time zone is not valid.

    `position` is the wrong character's position, counted from 0, or None if the whole text is wrong. `suggestion` is
    the whole expression that the client probably meant, or None if it is unknown.
    """

    def __init__(
        self, message: str, position: int | None = None, suggestion: str | None = None, examples: tuple[str, ...] = ()
    ) -> None:
        super().__init__(message)
        self.message = message
        self.position = position
        self.suggestion = suggestion
        self.examples = examples


class TimezoneInvalid(ScheduleInvalid):
    """The time zone is not valid."""


class Flaw(Exception):  # noqa: N818
    """A mistake of `length` characters at `position`.

    `instead` replaces the wrong characters, or is None if no replacement is known.
    """

    def __init__(self, message: str, position: int, length: int = 0, instead: str | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.position = position
        self.length = length
        self.instead = instead

    def mend(self, text: str) -> str | None:
        """Returns `text` with this mistake corrected, or None without a correction."""
        if self.instead is None:
            return None
        return text[: self.position] + self.instead + text[self.position + self.length :]


class Part:
    """A piece of an expression, with its position in the whole expression."""

    __slots__ = ("position", "text")

    def __init__(self, text: str, position: int) -> None:
        self.text = text
        self.position = position

    def flaw(self, message: str, instead: str | None = None) -> Flaw:
        """Returns the error for this piece."""
        return Flaw(message, self.position, len(self.text), instead)

    def split(self, separator: str | None) -> list["Part"]:
        """Returns the pieces between separators. The separator None means any run of white space."""
        parts, start = [], 0
        for text in self.text.split(separator):
            start = self.text.index(text, start)
            parts.append(Part(text, self.position + start))
            start += len(text) + len(separator or " ")
        return parts


def refuse_surplus_space(text: str) -> None:
    """Raises Flaw for white space that AWS refuses in rate() and cron() (recorded at AWS).

    AWS allows one blank between two words, but no blank next to a bracket.
    """
    found = _SURPLUS(text)
    if found is not None:
        between = found.start() > text.find("(") + 1 and found.end() < len(text) - 1
        raise Flaw(
            "there is one blank between two words of rate() and cron(), and none at a bracket",
            found.start(), len(found[0]), " " if between else "",
        )  # fmt: skip


def raise_flaw(text: str, read: Callable[[str], Result], examples: tuple[str, ...]) -> Result:
    """Returns the result of `read` for the text. Raises ScheduleInvalid if `read` raises Flaw."""
    try:
        return _read(text, read)
    except Flaw as flaw:
        raise ScheduleInvalid(flaw.message, flaw.position, find_suggestion(flaw.mend(text), read), examples) from None


def _read(text: str, read: Callable[[str], Result]) -> Result:
    """Parses the text.

    The parser accepts only ASCII, so that Python and PostgreSQL agree on letters, digits and white space.
    """
    if len(text) > MAX_EXPRESSION_LENGTH:
        raise Flaw(f"an expression has at most {MAX_EXPRESSION_LENGTH} characters", MAX_EXPRESSION_LENGTH)
    if foreign := _FOREIGN(text):
        instead = " " if foreign[0].isspace() else None
        raise Flaw(f"{foreign[0]!a} is not allowed in an expression", foreign.start(), 1, instead)
    return read(text)


def find_suggestion(text: str | None, read: Callable[[str], object]) -> str | None:
    """Returns the text with all mistakes corrected, or None if a mistake has no correction."""
    for _ in range(_REPAIRS):
        if text is None:
            return None
        try:
            _read(text, read)
        except Flaw as flaw:
            text = flaw.mend(text)
        else:
            return text.strip()
    return None


def find_nearest(word: str, words: tuple[str, ...]) -> str | None:
    """Returns the most similar word, or None if no word is similar enough."""
    from difflib import get_close_matches  # noqa: PLC0415 - it takes 3 ms, and only errors need it

    return next(iter(get_close_matches(word, words, n=1, cutoff=0.6)), None)
