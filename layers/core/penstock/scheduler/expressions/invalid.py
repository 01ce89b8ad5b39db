"""What is wrong with an expression: where, what to write instead, and examples.

Parsers raise `Flaw`, with one place and how to mend it. `checked` turns it into `ScheduleInvalid`, whose
suggestion is a whole expression, and one that can be read: a suggestion that is wrong itself is worse than none.
"""

import re
from collections.abc import Callable
from typing import TypeVar

Result = TypeVar("Result")

LONGEST = 256
"""Characters of an expression (EventBridge Scheduler API reference, ScheduleExpression); ours for all forms."""

_REPAIRS = 6
_FOREIGN = re.compile(r"[^\t\n\r -~]").search


class ScheduleInvalid(Exception):  # noqa: N818 - the name of the error in the API
    """An expression or time zone that cannot be used.

    `position` counts characters from 0 in what was written; None when the whole is meant. `suggestion` is what was
    probably meant, in full; None when that is not known.
    """

    def __init__(
        self,
        message: str,
        position: int | None = None,
        suggestion: str | None = None,
        examples: tuple[str, ...] = (),
    ) -> None:
        super().__init__(message)
        self.message = message
        self.position = position
        self.suggestion = suggestion
        self.examples = examples


class Flaw(Exception):  # noqa: N818
    """One wrong place: `length` characters at `position`. `instead` replaces them; None when nothing is known."""

    def __init__(self, message: str, position: int, length: int = 0, instead: str | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.position = position
        self.length = length
        self.instead = instead

    def mended(self, text: str) -> str | None:
        """`text` with this one place replaced."""
        if self.instead is None:
            return None
        return text[: self.position] + self.instead + text[self.position + self.length :]


class Part:
    """A piece of an expression that remembers where it was written."""

    __slots__ = ("position", "text")

    def __init__(self, text: str, position: int) -> None:
        self.text = text
        self.position = position

    def flaw(self, message: str, instead: str | None = None) -> Flaw:
        """This piece is wrong."""
        return Flaw(message, self.position, len(self.text), instead)

    def split(self, separator: str | None) -> list["Part"]:
        """The pieces between separators, or between runs of white space when that is None."""
        parts, start = [], 0
        for text in self.text.split(separator):
            start = self.text.index(text, start)
            parts.append(Part(text, self.position + start))
            start += len(text) + len(separator or " ")
        return parts


def checked(text: str, read: Callable[[str], Result], examples: tuple[str, ...]) -> Result:
    """What `read` makes of the text. Raises ScheduleInvalid."""
    try:
        return _read(text, read)
    except Flaw as flaw:
        raise ScheduleInvalid(
            flaw.message, flaw.position, _suggestion(flaw.mended(text), read), examples
        ) from None


def _read(text: str, read: Callable[[str], Result]) -> Result:
    """Only ASCII is let in, so that letters, digits and white space mean the same here and in PostgreSQL."""
    if len(text) > LONGEST:
        raise Flaw(f"an expression has at most {LONGEST} characters", LONGEST)
    if foreign := _FOREIGN(text):
        instead = " " if foreign[0].isspace() else None
        raise Flaw(f"{foreign[0]!a} cannot stand in an expression", foreign.start(), 1, instead)
    return read(text)


def _suggestion(text: str | None, read: Callable[[str], object]) -> str | None:
    """The text once everything that can be mended is; None when something remains that cannot."""
    for _ in range(_REPAIRS):
        if text is None:
            return None
        try:
            _read(text, read)
        except Flaw as flaw:
            text = flaw.mended(text)
        else:
            return text.strip()
    return None


def nearest(word: str, words: tuple[str, ...]) -> str | None:
    """The one of the words that was probably meant."""
    from difflib import get_close_matches  # noqa: PLC0415 - 3 ms, and only errors need it

    return next(iter(get_close_matches(word, words, n=1, cutoff=0.6)), None)
