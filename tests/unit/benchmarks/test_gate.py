"""The host-load gate: figures of a busy machine are marked, waited for, or not taken."""

import pytest

from benchmarks.measure import gate
from benchmarks.measure.host import HostLoad

BUSY, QUIET = HostLoad(0.5, 3.0), HostLoad(0.02, 0.1)


def loads(monkeypatch: pytest.MonkeyPatch, *found: HostLoad) -> list[float]:
    """The loads that are seen one after the other; the pauses between them."""
    seen, pauses = iter(found), list[float]()
    monkeypatch.setattr(gate, "host_load", lambda: next(seen))
    monkeypatch.setattr("benchmarks.measure.gate.time.sleep", pauses.append)
    return pauses


@pytest.mark.parametrize("when_busy", ["mark", "wait", "refuse"])
def test_a_quiet_host_passes(monkeypatch: pytest.MonkeyPatch, when_busy: str) -> None:
    pauses = loads(monkeypatch, QUIET)
    assert gate.check_host_load(when_busy) == QUIET
    assert pauses == []


def test_a_busy_host_is_marked(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    loads(monkeypatch, BUSY)
    assert gate.check_host_load("mark").busy
    assert "busy (50% of all cores)" in capsys.readouterr().err


def test_a_busy_host_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    loads(monkeypatch, BUSY)
    with pytest.raises(gate.BusyHostError):
        gate.check_host_load("refuse")


def test_a_busy_host_is_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    pauses = loads(monkeypatch, BUSY, BUSY, QUIET)
    assert gate.check_host_load("wait") == QUIET
    assert len(pauses) == 2
