"""Marks the lines in which several texts differ, so that readers can skip the equal ones."""

from collections import Counter
from collections.abc import Sequence
from typing import NamedTuple


class Line(NamedTuple):
    """Represents a line of a text. It says whether some text lacks the line."""

    text: str
    differs: bool


def mark_lines(texts: Sequence[str]) -> list[list[Line]]:
    """Returns the lines of each text. A single text has no differences."""
    split = [text.split("\n") for text in texts]
    if len(split) < 2:
        return [[Line(line, differs=False) for line in lines] for lines in split]
    everywhere = Counter(line.rstrip(",") for lines in split for line in {one.rstrip(",") for one in lines})
    return [[Line(line, everywhere[line.rstrip(",")] < len(split)) for line in lines] for lines in split]
