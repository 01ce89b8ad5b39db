"""Tests what commands print on a terminal and elsewhere (docs/reference/command_line.md, https://no-color.org)."""

import io
import sys
from datetime import UTC, datetime

import pytest

from penstock_web.cli import printing
from penstock_web.cli.commands.alerts import describe_wait

ROWS: list[dict[str, object]] = [
    {"name": "a\x1b[2J", "state": "failed", "of": 3},
    {"name": "b", "state": "x", "of": 10},
]


class Terminal(io.StringIO):
    """A terminal that keeps what it shows."""

    def isatty(self) -> bool:
        return True


def use_terminal(monkeypatch: pytest.MonkeyPatch) -> Terminal:
    """Replaces standard output within a test, because pytest replaces it after the fixtures."""
    for name in ("NO_COLOR", "FORCE_COLOR"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("TERM", "xterm-256color")
    monkeypatch.setattr(sys, "stdout", shown := Terminal())
    return shown


def print_everything() -> None:
    printing.print_table(ROWS, False, ("name", "state", "of"))
    printing.print_fields({"name": "a", "state": "paused"})
    printing.print_lines(["[red]no markup[/red]"], style="red")


PLAIN = """\
name      state   of
a\\x1b[2J  failed   3
b         x       10
name   a
state  paused
[red]no markup[/red]
"""


def test_a_terminal_shows_states_in_colour(monkeypatch: pytest.MonkeyPatch) -> None:
    terminal = use_terminal(monkeypatch)
    print_everything()
    shown = terminal.getvalue()
    assert "\x1b[31mfailed" in shown
    assert "\x1b[33mpaused" in shown
    assert "\x1b[1mname" in shown
    assert "\x1b[31m[red]no markup[/red]" in shown
    assert "\x1b[2J" not in shown


def test_no_color_removes_the_colours(monkeypatch: pytest.MonkeyPatch) -> None:
    terminal = use_terminal(monkeypatch)
    monkeypatch.setenv("NO_COLOR", "1")
    print_everything()
    assert "\x1b[3" not in terminal.getvalue()
    assert terminal.getvalue().replace("\x1b[1m", "").replace("\x1b[0m", "") == PLAIN


def test_a_terminal_without_escape_sequences_shows_plain_text(monkeypatch: pytest.MonkeyPatch) -> None:
    terminal = use_terminal(monkeypatch)
    monkeypatch.setenv("TERM", "dumb")
    print_everything()
    assert terminal.getvalue() == PLAIN


def test_a_file_gets_plain_text(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setattr(sys, "stdout", file := io.StringIO())
    print_everything()
    assert file.getvalue() == PLAIN


def test_a_long_line_is_not_cut(monkeypatch: pytest.MonkeyPatch) -> None:
    """The terminal wraps lines, so that copied text has no additional line ends."""
    terminal = use_terminal(monkeypatch)
    monkeypatch.setenv("COLUMNS", "20")
    printing.print_table([{"text": "x" * 50}], False, ("text",))
    assert "x" * 50 in terminal.getvalue()


def test_progress_changes_one_line_of_a_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    terminal = use_terminal(monkeypatch)
    with printing.Progress() as progress:
        for text in ("1 of 2", "1 of 2", "2 of 2"):
            progress.show(text)
    assert terminal.getvalue() == "\r\x1b[K1 of 2\r\x1b[K2 of 2\r\x1b[K"


def test_progress_in_a_file_is_a_line_for_each_change(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdout", file := io.StringIO())
    with printing.Progress() as progress:
        for text in ("1 of 2", "1 of 2", "2 of 2"):
            progress.show(text)
    assert file.getvalue() == "1 of 2\n2 of 2\n"


@pytest.mark.parametrize(
    ("expected_at", "text"),
    [(None, "never; no address"), ("2030-01-01T00:00:40Z", "in 40 s"), ("2029-12-31T23:59:00.5Z", "now")],
)
def test_a_problem_shows_when_its_alert_is_sent(expected_at: str | None, text: str) -> None:
    assert describe_wait(expected_at, datetime(2030, 1, 1, tzinfo=UTC)) == text
