"""What drives the libraries of other queues: it sends all that there is, and ends when all has come or nothing does."""

import asyncio
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from benchmarks.measure.outcome import Outcome, Plan
from benchmarks.peers import driver as peers_driver
from benchmarks.peers import packages
from benchmarks.peers.driver import Driver, Order
from benchmarks.peers.failure_tolerant import FailureTolerantPeer
from benchmarks.peers.library_peer import SHAPES, LibraryPeer
from benchmarks.report.runs import marks_of
from benchmarks.scenarios import SCENARIOS


class Memory(Driver):
    """A queue that loses every message whose number is in `lost`."""

    lost: frozenset[str] = frozenset()

    def __init__(self, order: Order) -> None:
        super().__init__(order)
        self.calls: list[int] = []
        self._queue: asyncio.Queue[str] = asyncio.Queue()
        self._began = 0.0

    async def send(self, connection: int, count: int) -> list[str]:
        ids = [f"{connection}-{len(self.calls)}-{n}" for n in range(count)]
        self.calls.append(count)
        for each in ids:
            if each not in self.lost:
                self._queue.put_nowait(each)
        await asyncio.sleep(0)
        return ids

    async def receive(self, on_received: Callable[[list[str]], None]) -> None:
        while True:
            on_received([await self._queue.get()])


class Leaking(Memory):
    lost = frozenset({"0-0-0"})


def order(size: int, to_send: int, to_receive: int) -> Order:
    return {
        "senders": 3, "size": size, "to_send": to_send, "to_receive": to_receive, "stall_seconds": 0.05, "idle": False,
    }  # fmt: skip


async def test_an_idle_consumer_gets_one_message_after_the_other(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(peers_driver, "PAUSE_SECONDS", (0, 0))
    driver = Memory(order(1, 5, 5) | {"senders": 1, "idle": True})
    await driver.run_order()
    assert driver.calls == [1] * 5
    assert driver.record.received == driver.record.sent
    assert len(driver.record.call_seconds) == 5


@pytest.mark.parametrize(("size", "most"), [(1, 1), (10, 10), (0, 10)])
async def test_all_is_sent_in_calls_of_the_size_and_received(size: int, most: int) -> None:
    driver = Memory(order(size, 57, 57))
    await driver.run_order()
    assert sum(driver.calls) == 57
    assert max(driver.calls) <= most
    assert sorted(driver.record.received) == sorted(driver.record.sent)
    assert len(set(driver.record.sent)) == 57


async def test_a_loss_ends_the_run_and_shows() -> None:
    driver = Leaking(order(1, 9, 9))
    await driver.run_order()
    assert set(driver.record.sent) - set(driver.record.received) == {"0-0-0"}


async def test_what_fails_in_the_library_is_raised() -> None:
    class Failing(Memory):
        async def receive(self, on_received: Callable[[list[str]], None]) -> None:
            raise OSError("gone")

    with pytest.raises(OSError, match="gone"):
        await Failing(order(1, 3, 3)).run_order()


class Nowhere(LibraryPeer):
    name = "nowhere"

    def details(self) -> dict[str, object]:
        return {}


@pytest.mark.parametrize(
    ("scenario", "senders", "receivers", "size"),
    [
        ("send_1", 16, 0, 1),
        ("send_10", 16, 0, 10),
        ("warski", 8, 8, 0),
        ("receive_delete_10", 0, 16, 10),
        ("queue_add", 1, 0, 1),
        ("queue_add_bulk", 1, 0, 50),
        ("worker_generic", 0, 1, 1),
        ("worker_concurrent", 0, 16, 10),
    ],
)
def test_a_library_gets_the_shape_of_the_scenario(
    scenario: str, senders: int, receivers: int, size: int
) -> None:
    given = Nowhere().order_of("q", SHAPES[scenario], Plan(16, 100, 10))
    assert (given["senders"], given["receivers"], given["size"]) == (senders, receivers, size)


def test_packages_are_brought_again_when_they_changed(tmp_path: Path) -> None:
    assert not packages.is_complete(tmp_path, ["a==1"])
    packages.mark_complete(tmp_path, ["a==1", "b"])
    assert packages.is_complete(tmp_path, ["a==1", "b"])
    assert not packages.is_complete(tmp_path, ["a==2", "b"])


def test_a_peer_that_fails_is_a_line_that_is_not_valid() -> None:
    class Broken(Nowhere):
        def run(self, *_: object) -> Outcome:
            raise RuntimeError("the driver said nothing")

    peer: Any = Broken()
    peer.start = peer.stop = peer.facts = peer.disk_bytes = peer.pss_bytes = lambda: None
    run = FailureTolerantPeer(peer).run(SCENARIOS["send_1"], Plan(1, 10, 100))
    assert (run.messages, run.valid) == (0, False)
    assert "the driver said nothing" in marks_of([run])[0]
