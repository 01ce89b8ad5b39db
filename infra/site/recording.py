"""Runs the first minutes with Penstock in terminals, and draws docs/assets/first-minutes.svg: `make recording`.

One terminal runs the service. The other terminal runs a shell, into which the program types the commands. The picture
of the terminals' output is an SVG with SMIL, without scripts and styles, so a page with a strict
Content-Security-Policy can show the picture. The picture's speed suits a reader, so its times differ from the programs'
real times.
"""

import fcntl
import os
import pty
import re
import select
import signal
import struct
import subprocess
import sys
import tempfile
import termios
import time
from collections.abc import Sequence
from html import escape
from pathlib import Path
from typing import Final

from penstock_web.local.postgres import free_port

from .screen import COLUMNS, ROWS, Film, Screen, Shown

ROOT: Final = Path(__file__).parents[2]
PICTURE: Final = ROOT / "docs/assets/first-minutes.svg"
LARGEST_BYTES: Final = 400_000
PROMPT: Final = "$ "
SERVICE: Final = "penstock up --ephemeral"
SHOWN_PORT: Final = 9324
COMMANDS: Final = (
    "penstock create orders-failed",
    "penstock create orders --dead-letters orders-failed --max-receives 1",
    """penstock send orders '{"order": 42, "total": 99.5}'""",
    "penstock receive orders --delete",
    """penstock send orders '{"order": 43, "total": null}'""",
    "penstock receive orders --hide 0     # a consumer that fails",
    "penstock receive orders              # too often: now it is a dead letter",
    "penstock failures orders-failed",
    "penstock redrive orders-failed --wait",
    "penstock peek orders",
)
QUESTION: Final = "[y/N]: "
YES: Final = "y"
_START_SECONDS: Final = 120
_COMMAND_SECONDS: Final = 60
_KEY_SECONDS: Final = 0.016
_LINE_SECONDS: Final = 0.14
_READING_SECONDS: Final = 0.5
_LAST_SECONDS: Final = 3.0

_WIDTH: Final = 8.4
_HEIGHT: Final = 18
_MARGIN: Final = 14
_TOP: Final = 40
_FONTS: Final = "ui-monospace, SFMono-Regular, Menlo, Consolas, monospace"
_TITLE: Final = "A terminal: Penstock starts, delivers a message, and sends a dead letter back"


class Terminal:
    """A program in a pseudo-terminal."""

    def __init__(self, command: Sequence[str], home: Path, port: int) -> None:
        master, slave = pty.openpty()
        fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", ROWS, COLUMNS, 0, 0))
        environment = {
            "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}",
            "HOME": str(home),
            "XDG_STATE_HOME": str(home / "state"),
            "PS1": PROMPT,
            "TERM": "xterm",
            "LANG": "C.UTF-8",
            "LOG_LEVEL": "warning",
            # Another service may use the usual port. The picture shows the usual port.
            "QUEUE_ADDRESS": f"127.0.0.1:{port}",
            "PENSTOCK_ENDPOINT": f"http://127.0.0.1:{port}",
        }
        self.process = subprocess.Popen(
            command,
            stdin=slave,
            stdout=slave,
            stderr=slave,
            env=environment,
            cwd=home,
            start_new_session=True,
            # preexec_fn is safe, because this program has one thread.
            preexec_fn=lambda: fcntl.ioctl(0, termios.TIOCSCTTY, 0),  # noqa: PLW1509
        )
        os.close(slave)
        self.master = master
        self._port = port

    def read_until(self, end: str, seconds: float) -> str:
        """Returns the program's output until it ends with `end` (a pattern). Raises TimeoutError."""
        read, deadline = "", time.monotonic() + seconds
        while not re.search(f"(?:{end})$", read):
            left = deadline - time.monotonic()
            if left <= 0 or not select.select([self.master], [], [], left)[0]:
                raise TimeoutError(f"{end!r} did not come, but {read!r}")
            read += os.read(self.master, 65_536).decode()
        return read.replace(f"127.0.0.1:{self._port}", f"127.0.0.1:{SHOWN_PORT}")

    def read_start(self) -> str:
        """Returns the lines that `penstock up` prints until it is ready. Raises TimeoutError."""
        return self.read_until(r"console  \S+\s+(?:docs     \S+\s+)?", _START_SECONDS)

    def write(self, text: str) -> None:
        """Types text."""
        os.write(self.master, text.encode())

    def close(self) -> None:
        """Ends the program as Ctrl-C does, and waits for its end."""
        os.killpg(self.process.pid, signal.SIGINT)
        try:
            self.process.wait(30)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        os.close(self.master)


def record() -> Film:
    """Runs the commands. Returns the film of both terminals."""
    film = Film()
    with tempfile.TemporaryDirectory(prefix="recording-") as folder:
        home, port = Path(folder), free_port()
        service = Terminal(SERVICE.split(), home, port)
        try:
            show_service(film, service.read_start())
            shell = Terminal(["sh", "-i"], home, port)
            try:
                show_shell(film, shell)
            finally:
                shell.write("exit\n")
                shell.close()
        finally:
            service.close()
    return film


def show_service(film: Film, output: str) -> None:
    """Shows the start of the service, line by line."""
    screen = Screen()
    screen.write(PROMPT)
    film.show(screen.visible())
    film.wait(_READING_SECONDS)
    type_command(film, screen, SERVICE)
    screen.write("\r\n")
    for line in output.splitlines(keepends=True):
        screen.write(line)
        film.show(screen.visible())
        film.wait(_LINE_SECONDS)
    film.wait(2 * _READING_SECONDS)


def show_shell(film: Film, shell: Terminal) -> None:
    """Types the commands into the shell and shows their output."""
    screen = Screen()
    screen.write(shell.read_until(re.escape(PROMPT), _COMMAND_SECONDS))
    film.show(screen.visible())
    film.wait(_READING_SECONDS)
    for command in COMMANDS:
        output = enter(film, screen, shell, command)
        if output.endswith(QUESTION):
            output += enter(film, screen, shell, YES)
        if "penstock: " in output:
            raise RuntimeError(f"{command} failed: {output}")
    film.wait(_LAST_SECONDS)


def enter(film: Film, screen: Screen, shell: Terminal, line: str) -> str:
    """Types a line, and shows and returns the output, which ends with a prompt or a question."""
    shell.write(line)
    shell.read_until(re.escape(line), _COMMAND_SECONDS)
    type_command(film, screen, line)
    shell.write("\n")
    output = shell.read_until(rf"\n{re.escape(PROMPT)}|{re.escape(QUESTION)}", _COMMAND_SECONDS)
    for part in output.splitlines(keepends=True):
        screen.write(part)
        film.show(screen.visible())
        film.wait(_LINE_SECONDS if part.strip() else 0)
    film.wait(_READING_SECONDS)
    return output


def type_command(film: Film, screen: Screen, command: str) -> None:
    """Shows the typing of a command, two characters at a time."""
    for start in range(0, len(command), 2):
        typed = command[start : start + 2]
        screen.write(typed)
        film.show(screen.visible())
        film.wait(_KEY_SECONDS * len(typed))


def draw(shown: Sequence[Shown], seconds: float) -> str:
    """Returns the picture, which shows each text of each row for the text's time, and repeats."""
    width, height = round(COLUMNS * _WIDTH) + 2 * _MARGIN, ROWS * _HEIGHT + _TOP + _MARGIN
    dots = "".join(
        f'<circle cx="{_MARGIN + 6 + 18 * index}" cy="17" r="5" fill="{colour}"/>'
        for index, colour in enumerate(("#ff5f57", "#febc2e", "#28c840"))
    )
    texts = "\n".join(draw_text(each, seconds) for each in shown)
    frame = f'viewBox="0 0 {width} {height}" width="{width}" height="{height}"'
    return f"""<svg xmlns="http://www.w3.org/2000/svg" {frame} role="img">
<title>{_TITLE}</title>
<rect width="{width}" height="{height}" rx="8" fill="#14171c"/>
{dots}
<g font-family="{_FONTS}" font-size="14" fill="#d7dce2">
{texts}
</g>
</svg>
"""


def draw_text(shown: Shown, seconds: float) -> str:
    """Returns an SVG element with a text and its time. Without animations, the picture shows the last screen."""
    start, end = shown.start / seconds, shown.end / seconds
    times, values = ["0"], ["hidden"]
    if start <= 0:
        values = ["visible"]
    else:
        times.append(f"{start:.4f}")
        values.append("visible")
    last = end >= 1
    if not last:
        times.append(f"{end:.4f}")
        values.append("hidden")
    y = _TOP + (shown.row + 1) * _HEIGHT - 5
    length = f"{len(shown.text) * _WIDTH:.1f}"
    visibility = "visible" if last else "hidden"
    times_and_values = f'keyTimes="{";".join(times)}" values="{";".join(values)}"'
    return (
        f'<text x="{_MARGIN}" y="{y}" textLength="{length}" visibility="{visibility}">{colour(shown.text)}'
        f'<animate attributeName="visibility" calcMode="discrete" dur="{seconds:.2f}s" {times_and_values} '
        f'repeatCount="indefinite"/></text>'
    )


def colour(text: str) -> str:
    """Returns the text as XML, with green prompts, white commands and grey comments."""
    if not text.startswith(PROMPT.rstrip()):
        return to_xml(text)
    command, sign, comment = text.removeprefix(PROMPT).partition("# ")
    parts = f'<tspan fill="#5fd787">{to_xml(PROMPT)}</tspan><tspan fill="#ffffff">{to_xml(command)}</tspan>'
    return f'{parts}<tspan fill="#8b949e">{to_xml(sign + comment)}</tspan>' if sign else parts


def to_xml(text: str) -> str:
    """Returns the text as XML, with spaces that a renderer does not join."""
    return escape(text, quote=False).replace(" ", "\xa0")


def main() -> None:
    """Records the terminals and writes the picture."""
    film = record()
    shown = film.end()
    picture = draw(shown, film.now)
    if len(picture.encode()) > LARGEST_BYTES:
        sys.exit(f"{PICTURE} would have {len(picture.encode())} bytes, more than {LARGEST_BYTES}")
    PICTURE.write_text(picture)
    sys.stdout.write(f"{PICTURE}: {len(picture.encode()) / 1e3:.0f} kB, {film.now:.0f} s, {len(shown)} texts\n")


if __name__ == "__main__":
    main()
