"""Represents a terminal screen of 80 columns and 20 rows, and records the texts of its rows with their times.

The screen supports text, line ends and backspaces. The screen ignores escape sequences.
"""

import re
from dataclasses import dataclass, field
from typing import Final

COLUMNS: Final = 80
ROWS: Final = 20
_PIECE: Final = re.compile(r"\x1b\[[0-?]*[ -/]*[@-~]|\x1b\][^\x07]*\x07|\x1b.|[\s\S]")


@dataclass(frozen=True)
class Shown:
    """A row's text, with the times in seconds at which the text appears and disappears."""

    row: int
    text: str
    start: float
    end: float


@dataclass
class Screen:
    """The rows of a terminal, which scroll."""

    rows: list[str] = field(default_factory=lambda: [""])
    column: int = 0

    def write(self, text: str) -> None:
        """Shows text as a terminal does, with a wrap after the last column."""
        for piece in _PIECE.findall(text):
            if piece == "\r":
                self.column = 0
            elif piece == "\n":
                self._next_row()
            elif piece == "\b":
                self.column = max(0, self.column - 1)
            elif len(piece) == 1 and piece.isprintable():
                self._put(piece)

    def visible(self) -> list[str]:
        """Returns the last ROWS rows."""
        return [row.rstrip() for row in self.rows[-ROWS:]]

    def _put(self, character: str) -> None:
        if self.column == COLUMNS:
            self._next_row()
        row = self.rows[-1].ljust(self.column)
        self.rows[-1] = row[: self.column] + character + row[self.column + 1 :]
        self.column += 1

    def _next_row(self) -> None:
        self.rows.append("")
        self.column = 0


@dataclass
class Film:
    """A sequence of screens, whose clock advances at a reader's speed."""

    now: float = 0.0
    finished: list[Shown] = field(default_factory=list)
    _rows: dict[int, tuple[str, float]] = field(default_factory=dict)

    def show(self, rows: list[str]) -> None:
        """Shows the given rows from the current time on."""
        for row in range(ROWS + 1):
            text = rows[row] if row < len(rows) else ""
            old, start = self._rows.get(row, ("", 0.0))
            if text == old:
                continue
            if old and self.now > start:
                self.finished.append(Shown(row, old, start, self.now))
            self._rows[row] = (text, self.now)

    def wait(self, seconds: float) -> None:
        """Advances the clock."""
        self.now += seconds

    def end(self) -> list[Shown]:
        """Returns all shown texts in the order of their starts."""
        self.show([])
        return sorted(self.finished, key=lambda shown: (shown.start, shown.row))
