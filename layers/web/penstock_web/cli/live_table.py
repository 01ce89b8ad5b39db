"""Shows the table of `penstock top` on a terminal: reads the keys and the queues, and restores the terminal."""

from __future__ import annotations

import os
import re
import signal
import sys
import termios
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from select import select
from threading import Event, Thread
from time import monotonic
from typing import Final, Self

from rich.live import Live

from penstock_web.local_error import LocalError

from . import printing
from .lag import Reading
from .queue_table import QueueTable

_DRAW_SECONDS: Final = 1.0
"""The longest time until the table has the size of a changed terminal."""
_KEYS: Final = re.compile(r"\x1b(?:\[[0-9;]*|O)[A-Za-z~]|.", re.DOTALL)
_NAMES: Final = {
    "\x1b[A": "up", "\x1bOA": "up", "k": "up",
    "\x1b[B": "down", "\x1bOB": "down", "j": "down",
    "\x1b[5~": "page up", "\x1b[6~": "page down",
    "\x1b[H": "home", "\x1bOH": "home", "\x1b[1~": "home",
    "\x1b[F": "end", "\x1bOF": "end", "\x1b[4~": "end",
}  # fmt: skip
"""Maps what terminals send to names of keys. Terminals differ."""

Read = Callable[[], Reading]


def show(table: QueueTable, read: Read, interval: int) -> None:
    """Shows the table until the user presses q or Ctrl-C, or until the terminal is closed."""
    console = printing.open_console()
    with Reader(read, interval) as reader, _terminal(), Live(console=console, screen=True, auto_refresh=False) as live:
        try:
            while True:
                live.update(table.render(console.width, console.height), refresh=True)
                ready, _, _ = select([sys.stdin, reader.changed], [], [], _DRAW_SECONDS)
                if reader.changed in ready:
                    reader.store_in(table)
                if sys.stdin in ready and not _apply_keys(table, reader, console.height):
                    return
        except KeyboardInterrupt:
            return


def _apply_keys(table: QueueTable, reader: Reader, height: int) -> bool:
    """Applies the keys that the user pressed. Returns False if the program ends."""
    pressed = os.read(sys.stdin.fileno(), 1_024).decode(errors="replace")
    for text in _KEYS.findall(pressed):
        if text == " ":
            reader.refresh()
        elif not table.press(_NAMES.get(text, text), height):
            return False
    return pressed != ""


class Reader:
    """Reads the queues again and again in a thread, so that the keys work during a request."""

    def __init__(self, read: Read, interval: int) -> None:
        self._read = read
        self._interval = interval
        self._due, self._ended = Event(), False
        self._result: Reading | str = ""
        self.changed, self._signal = os.pipe()

    def __enter__(self) -> Self:
        Thread(target=self._run, daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        self._ended = True
        self._due.set()

    def refresh(self) -> None:
        """Reads now."""
        self._due.set()

    def store_in(self, table: QueueTable) -> None:
        """Stores the latest queues or the latest error in the table."""
        os.read(self.changed, 1_024)
        result = self._result
        if isinstance(result, str):
            table.error = result
        else:
            table.take(*result)

    def _run(self) -> None:
        """Waits at least as long as a request took, so that many queues do not keep the service busy."""
        pause = float(self._interval)
        while True:
            self._due.wait(pause)
            self._due.clear()
            if self._ended:
                return
            start = monotonic()
            try:
                self._result = self._read()
            except LocalError as error:
                self._result = f"{datetime.now(UTC):%H:%M:%S} UTC  {error}"
            pause = max(self._interval, monotonic() - start)
            os.write(self._signal, b".")


@contextmanager
def _terminal() -> Iterator[None]:
    """Makes the terminal send keys at once and without an echo, until the end of the block, also after SIGTERM and
    SIGHUP. Ctrl-Z has no effect, because the shell would inherit the changed terminal.
    """
    descriptor = sys.stdin.fileno()
    before = termios.tcgetattr(descriptor)
    changed = termios.tcgetattr(descriptor)
    changed[3] &= ~(termios.ICANON | termios.ECHO)
    changed[6][termios.VSUSP] = b"\x00"
    handlers = {number: signal.signal(number, _end) for number in (signal.SIGTERM, signal.SIGHUP)}
    try:
        termios.tcsetattr(descriptor, termios.TCSADRAIN, changed)
        yield
    finally:
        termios.tcsetattr(descriptor, termios.TCSADRAIN, before)
        for number, handler in handlers.items():
            signal.signal(number, handler)


def _end(number: int, _frame: object) -> None:
    sys.exit(128 + number)
