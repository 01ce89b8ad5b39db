"""Runs a program on a terminal, reads what it shows, and presses keys."""

import fcntl
import os
import pty
import struct
import subprocess
import termios
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from select import POLLIN, poll
from typing import Any

SECONDS = 30.0
"""The longest wait for a text."""


class Terminal:
    """A terminal with a running program."""

    def __init__(self, ours: int, theirs: int) -> None:
        self._ours, self._theirs = ours, theirs

    def wait_for(self, text: str) -> str:
        """Waits until the program shows a text. Returns everything that the program has shown since the last wait."""
        found, deadline = b"", time.monotonic() + SECONDS
        while text.encode() not in found:
            # A process of pytest can have over 1,024 open files, which select() does not support.
            poller = poll()
            poller.register(self._ours, POLLIN)
            assert poller.poll(max(0, deadline - time.monotonic()) * 1000), f"{text!r} is missing in {found[-4_000:]!r}"
            found += os.read(self._ours, 65_536)
        return found.decode()

    def press(self, keys: str) -> None:
        os.write(self._ours, keys.encode())

    def modes(self) -> list[Any]:
        """Returns the terminal's modes, which a program must restore."""
        return termios.tcgetattr(self._theirs)


@contextmanager
def program_on_terminal(
    command: Sequence[str], variables: Mapping[str, str], *, columns: int = 120, lines: int = 12
) -> Iterator[tuple[Terminal, subprocess.Popen[bytes]]]:
    """Yields the terminal and the process. Kills the process at the end of the block if it still runs."""
    ours, theirs = pty.openpty()
    try:
        fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", lines, columns, 0, 0))
        environment = {**os.environ, "TERM": "xterm-256color", **variables}
        with subprocess.Popen(command, stdin=theirs, stdout=theirs, stderr=theirs, env=environment) as process:
            try:
                yield Terminal(ours, theirs), process
            finally:
                process.kill()
    finally:
        os.close(ours)
        os.close(theirs)
