"""Tests `penstock watch` with a service that the test plays (docs/reference/command_line.md)."""

import json
import re
from collections.abc import Iterator

import msgspec
import pytest

from penstock.management.metrics.views import show_verdict
from penstock.verdicts import Cause, Kind, Verdict
from penstock_web.cli import main
from penstock_web.cli.client import RefusedError
from penstock_web.cli.commands import watch
from penstock_web.local_error import LocalError

Answer = Verdict | Exception | None


class Service:
    """Answers with the next verdict or error. Ctrl-C is pressed after the last."""

    def __init__(self, answers: list[Answer]) -> None:
        self._answers: Iterator[Answer] = iter(answers)

    def __call__(self, _endpoint: str | None) -> "Service":
        return self

    def call(self, method: str, path: str) -> dict[str, object]:
        assert (method, path) == ("GET", "/queues/orders/lag")
        answer = next(self._answers, KeyboardInterrupt())
        if isinstance(answer, BaseException):
            raise answer
        return {"verdict": None if answer is None else msgspec.to_builtins(show_verdict(answer))}


def run(monkeypatch: pytest.MonkeyPatch, answers: list[Answer], *options: str) -> int:
    monkeypatch.setattr(watch, "RestClient", Service(answers))
    monkeypatch.setattr("time.sleep", lambda _seconds: None)
    return main(["watch", "orders", *options])


OK = Verdict(Kind.OK, backlog=1)
STALLED = Verdict(Kind.STALLED, cause=Cause.NOBODY_RECEIVES, cause_text="No consumer receives.", backlog=7)
AWAY = LocalError("no service responds")


def test_each_change_is_a_line(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    other = Verdict(Kind.OK, backlog=5)
    assert run(monkeypatch, [None, OK, other, STALLED, STALLED, OK]) == 0
    lines = [line.split("  ", 2)[2] for line in capsys.readouterr().out.splitlines()]
    assert lines == [
        "ok  1 visible",
        "stalled  (was ok)  7 visible  No consumer receives.",
        "ok  (was stalled)  1 visible",
    ]


def test_the_first_line_says_that_the_command_waits(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """With `--count 1`, the command ends after the present verdict, so it watches nothing."""
    for options in ([], ["--count", "2"], ["--count", "1"]):
        assert run(monkeypatch, [OK, STALLED], *options) == 0
    names = [line.split("  ")[1] for line in capsys.readouterr().out.splitlines()]
    assert names == ["watching orders:", "orders", "watching orders:", "orders", "orders"]
    assert main(["watch", "--help"]) == 0
    assert "each other line is a change" in " ".join(re.sub("[│ \n]+", " ", capsys.readouterr().out).split())


def test_another_cause_is_a_change(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    stopped = Verdict(Kind.STALLED, cause=Cause.MAPPING_STOPPED, cause_text="The mapping stopped.", backlog=7)
    assert run(monkeypatch, [STALLED, stopped]) == 0
    assert capsys.readouterr().out.splitlines()[1].endswith("  stalled  7 visible  The mapping stopped.")


def test_watch_ends_after_a_number_of_lines(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(monkeypatch, [OK, STALLED, OK], "--count", "2", "--json") == 0
    lines = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert [(line["queue"], line["verdict"]["kind"]) for line in lines] == [("orders", "ok"), ("orders", "stalled")]


def test_an_outage_is_told_once(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    database = RefusedError("the service cannot use its database", "service_unavailable")
    assert run(monkeypatch, [OK, AWAY, database, AWAY, OK, STALLED, AWAY]) == 0
    output = capsys.readouterr()
    assert len(output.out.splitlines()) == 2
    assert output.err.splitlines() == [
        "penstock: no service responds", "penstock: the service responds again", "penstock: no service responds"
    ]  # fmt: skip


@pytest.mark.parametrize("answers", [[AWAY], [OK, RefusedError("no such queue", "queue_not_found")]])
def test_watch_ends_without_a_service_or_a_queue(monkeypatch: pytest.MonkeyPatch, answers: list[Answer]) -> None:
    assert run(monkeypatch, answers) == 1
