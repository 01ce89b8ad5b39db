"""Tests which messages a worker handles, extends, returns and fails, on a queue in memory."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Sequence
from typing import cast

import pytest

from penstock_worker import Message, exponential_backoff
from penstock_worker.heartbeat import Heartbeat
from penstock_worker.queue import GoneError, Queue, describe
from penstock_worker.runner import Worker, run, split_groups
from penstock_worker.settings import Settings


class MemoryQueue:
    """Returns one batch a receive. Stops its worker when all messages but `left` are handled or released."""

    system = "memory"
    max_messages = 10
    idle_seconds = 0.0

    def __init__(
        self, *batches: list[Message], handler: Callable[[Message], object] = lambda message: None, left: int = 0
    ) -> None:
        self.handler = handler
        self.expected = sum(map(len, batches)) - left
        self.batches = deque(batches)
        self.counts: list[int] = []
        self.handled: list[str] = []
        self.deleted: list[str] = []
        self.released: list[str] = []
        self.failed: list[tuple[str, str, int]] = []
        self.closed = False
        self.worker: Worker[..., object] | None = None

    def receive(self, count: int) -> list[Message]:
        self.counts.append(count)
        if self.batches:
            return self.batches.popleft()
        assert self.worker is not None
        if len(self.handled) + len(self.released) >= self.expected:
            self.worker.stop()
        return []

    def handle(self, message: Message) -> None:
        self.handled.append(message.id)
        self.handler(message)

    def delete(self, message: Message) -> None:
        self.deleted.append(message.id)

    def extend(self, messages: Sequence[Message], seconds: int) -> list[Message]:
        return []

    def fail(self, message: Message, error: str, pause_seconds: int) -> None:
        self.failed.append((message.id, error, pause_seconds))

    def release(self, messages: Sequence[Message]) -> None:
        self.released.extend(message.id for message in messages)

    def close(self) -> None:
        self.closed = True

    def run(self, **options: int) -> None:
        self.worker = Worker("orders", self.handler, Settings(**options), lambda: self)  # type: ignore[arg-type]
        self.worker.run()
        assert self.closed


def message(name: str, group: str | None = None, receives: int = 1) -> Message:
    return Message(id=name, body=f'"{name}"', receive_count=receives, group_id=group)


def refuse(*names: str) -> Callable[[Message], None]:
    def handle(message: Message) -> None:
        if message.id in names:
            raise ValueError(f"{message.json()} is refused")

    return handle


def test_a_handled_message_is_deleted_and_a_failed_one_gets_its_cause_and_a_pause() -> None:
    queue = MemoryQueue([message("a"), message("b", receives=3)], handler=refuse("b"))
    queue.run(concurrency=2)
    assert (queue.deleted, queue.failed, queue.released) == (["a"], [("b", "ValueError: b is refused", 40)], [])


def test_the_rest_of_a_group_returns_after_a_failure() -> None:
    """The other group goes on."""
    batch = [message("a1", "a"), message("b1", "b"), message("a2", "a"), message("b2", "b"), message("a3", "a")]
    queue = MemoryQueue(batch, handler=refuse("a1"))
    queue.run(concurrency=5)
    assert [name for name in queue.handled if name[0] == "b"] == queue.deleted == ["b1", "b2"]
    assert [name for name in queue.handled if name[0] == "a"] == ["a1"]
    assert queue.released == ["a2", "a3"]


def test_a_message_whose_delete_fails_ends_its_group() -> None:
    """It returns after its visibility, and the next messages must not be handled before it."""

    def refuse_delete(message: Message) -> None:
        raise ConnectionError

    queue = MemoryQueue([message("a1", "a"), message("a2", "a")], left=1)
    queue.delete = refuse_delete  # type: ignore[method-assign]
    queue.run(concurrency=2)
    assert (queue.handled, queue.failed) == (["a1"], [])


def test_a_stop_lets_the_running_handler_finish_and_returns_the_rest() -> None:
    queue = MemoryQueue([message("a1", "a"), message("a2", "a"), message("b")])

    def stop(message: Message) -> None:
        assert queue.worker is not None
        queue.worker.stop()

    queue.handler = stop
    queue.run(concurrency=1)
    assert (queue.deleted, sorted(queue.released)) == (["a1"], ["a2", "b"])


def test_a_receive_takes_as_many_messages_as_handlers_are_free() -> None:
    blocked = threading.Event()
    queue = MemoryQueue([message("a"), message("b")], [message("c")], handler=lambda _: blocked.wait())
    receive = queue.receive

    def receive_and_unblock(count: int) -> list[Message]:
        if len(queue.counts) == 1:
            blocked.set()
        return receive(count)

    queue.receive = receive_and_unblock  # type: ignore[method-assign]
    queue.run(concurrency=12)
    assert queue.counts[0] == 10
    assert all(0 < count <= 10 for count in queue.counts)
    assert sorted(queue.deleted) == ["a", "b", "c"]


def test_no_more_messages_than_handlers_are_received() -> None:
    queue = MemoryQueue([message("a")], [message("b")])
    queue.run(concurrency=1)
    assert set(queue.counts) == {1}
    assert queue.deleted == ["a", "b"]


def test_work_that_another_consumer_has_done_is_no_failure() -> None:
    def gone(message: Message) -> None:
        raise GoneError

    queue = MemoryQueue([message("a")], handler=gone)
    queue.run()
    assert (queue.deleted, queue.failed, queue.released) == ([], [], [])


class Pauses(threading.Event):
    """An event that records how long the worker would wait, and does not wait."""

    def __init__(self) -> None:
        super().__init__()
        self.seconds: list[float | None] = []

    def wait(self, timeout: float | None = None) -> bool:
        self.seconds.append(timeout)
        return self.is_set()


def test_a_failed_receive_is_repeated_after_growing_pauses() -> None:
    queue = MemoryQueue([message("a")])
    receive, failures = queue.receive, [ConnectionError("away")] * 7

    def fail_first(count: int) -> list[Message]:
        if failures:
            raise failures.pop()
        return receive(count)

    queue.receive = fail_first  # type: ignore[method-assign]
    queue.worker = Worker("orders", queue.handler, Settings(), lambda: queue)
    queue.worker._stopping = pauses = Pauses()
    queue.worker.run()
    assert queue.deleted == ["a"]
    assert pauses.seconds[:7] == [1, 2, 4, 8, 16, 30, 30]


def test_a_queue_that_cannot_be_opened_ends_all_workers() -> None:
    def fail() -> MemoryQueue:
        raise LookupError("no queue")

    other = MemoryQueue()
    other.receive = lambda count: []  # type: ignore[method-assign]
    running = Worker("other", other.handler, Settings(), lambda: other)
    with pytest.raises(LookupError, match="no queue"):
        run(Worker("orders", other.handler, Settings(), fail), running)
    assert other.closed


def test_groups_keep_their_order() -> None:
    batch = [message("a1", "a"), message("x"), message("b1", "b"), message("a2", "a"), message("y")]
    assert [[each.id for each in group] for group in split_groups(batch)] == [["a1", "a2"], ["x"], ["b1"], ["y"]]


def test_pauses_grow_to_a_maximum() -> None:
    backoff = exponential_backoff(first_seconds=5, max_seconds=60)
    assert [backoff(count) for count in (0, 1, 2, 3, 4, 5, 1_000)] == [5, 5, 10, 20, 40, 60, 60]
    assert Settings(backoff=lambda count: 0.2).pause_seconds(1) == 1
    assert Settings(backoff=lambda count: 1e9).pause_seconds(1) == 43_200


@pytest.mark.parametrize("options", [{"concurrency": 0}, {"visibility_timeout": 2}, {"wait_seconds": 21}])
def test_options_outside_of_their_limits_are_refused(options: dict[str, int]) -> None:
    with pytest.raises(ValueError, match=next(iter(options))):
        Settings(**options)  # type: ignore[arg-type]


def test_a_cause_is_a_text_that_can_be_stored() -> None:
    assert describe(ValueError("total is null")) == "ValueError: total is null"
    assert describe(ValueError("a\0b\ud800")) == "ValueError: a\N{REPLACEMENT CHARACTER}b?"
    assert len(describe(ValueError("ü" * 5_000))) == 1_024


# --- heartbeat -------------------------------------------------------------------------------------------------------
class Extended:
    """Records the extended messages. `lost` are those of other consumers."""

    def __init__(self, *lost: str) -> None:
        self.lost = lost
        self.calls: list[tuple[list[str], int]] = []

    def extend(self, messages: Sequence[Message], seconds: int) -> list[Message]:
        self.calls.append(([message.id for message in messages], seconds))
        return [message for message in messages if message.id in self.lost]


def heartbeat(queue: Extended) -> Heartbeat:
    return Heartbeat(cast("Queue", queue), 30)


def test_only_messages_of_the_worker_are_extended() -> None:
    queue = Extended("c")
    beating = heartbeat(queue)
    beating.beat()
    beating.add([Message(id=name, body="") for name in "abc"])
    beating.beat()
    beating.remove([Message(id="a", body="")])
    beating.beat()
    assert queue.calls == [(["a", "b", "c"], 30), (["b"], 30)]
