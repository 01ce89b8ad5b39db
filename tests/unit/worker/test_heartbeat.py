"""Tests which messages a heartbeat extends."""

from __future__ import annotations

from collections.abc import Sequence
from typing import cast

from penstock_worker import Message
from penstock_worker.heartbeat import Heartbeat
from penstock_worker.queue import Queue


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
