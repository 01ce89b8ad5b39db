"""Drives a library of another queue in a process of its own. It needs nothing but the standard library.

The caller starts it with an order (JSON) as its argument, waits for the line "ready", writes a line to begin, and reads
one line of JSON: what was sent and received, how long it took, and the processor time of this process.
"""

import asyncio
import json
import random
import sys
from collections.abc import Callable
from dataclasses import dataclass, field
from time import perf_counter, process_time
from typing import Any

PAUSE_SECONDS = (0.005, 0.025)  # as in `benchmarks.studies.idle`
LOOK_SECONDS = 0.005  # between two looks at what has come: cheaper than an event for each message
Order = dict[str, Any]


@dataclass
class Record:
    """What is reported."""

    sent: list[str] = field(default_factory=list)
    received: list[str] = field(default_factory=list)
    call_seconds: list[float] = field(default_factory=list)
    sent_until: float = 0.0
    received_until: float = 0.0

    def got(self, ids: list[str]) -> None:
        self.received += ids
        self.received_until = perf_counter()


class Driver:
    """One queue. A subclass says how to connect, to send with one call, and to work on what is there."""

    def __init__(self, order: Order) -> None:
        self.order = order
        self.record = Record()
        self._left = int(order["to_send"])

    async def open(self) -> None:
        """Connect, and make the queue when it is not there."""

    async def close(self) -> None:
        """Disconnect."""

    async def send(self, connection: int, count: int) -> list[str]:
        """One call; the ids that were acknowledged."""
        raise NotImplementedError

    async def receive(self, got: Callable[[list[str]], None]) -> None:
        """Receive and acknowledge until cancelled; `got` is told the ids that are done."""
        raise NotImplementedError

    async def play(self) -> None:
        """Send all that there is to send, and receive at the same time, as the order says."""
        if self.order["idle"]:
            await self._alternate()
            return
        expected = int(self.order["to_receive"])
        receiving = asyncio.create_task(self.receive(self.record.got)) if expected else None
        await asyncio.gather(*(self._send_all(n) for n in range(int(self.order["senders"]))))
        while receiving is not None and not self._over(receiving, expected):  # noqa: ASYNC110
            # An event for each message would cost more than looks now and then.
            await asyncio.sleep(LOOK_SECONDS)
        if receiving is not None:
            receiving.cancel()
            results = await asyncio.gather(receiving, return_exceptions=True)
            for error in results:
                if isinstance(error, Exception):
                    raise error

    async def _alternate(self) -> None:
        """One message after the other, each for a consumer that waits; calls are not timed, but each message's way."""
        came = asyncio.Event()
        began = 0.0

        def got(ids: list[str]) -> None:
            self.record.got(ids)
            self.record.call_seconds.append(self.record.received_until - began)
            came.set()

        receiving = asyncio.create_task(self.receive(got))
        for _ in range(int(self.order["to_send"])):
            await asyncio.sleep(random.uniform(*PAUSE_SECONDS))
            came.clear()
            began = perf_counter()
            self.record.sent += await self.send(0, 1)
            self.record.sent_until = perf_counter()
            await came.wait()
        receiving.cancel()

    def _over(self, receiving: "asyncio.Task[None]", expected: int) -> bool:
        return receiving.done() or len(self.record.received) >= expected or self._stalled()

    def _stalled(self) -> bool:
        last = max(self.record.received_until, self.record.sent_until, self._began)
        return perf_counter() - last > float(self.order["stall_seconds"])

    async def _send_all(self, connection: int) -> None:
        size = int(self.order["size"])
        while count := min(self._left, size or random.randint(1, 10)):
            self._left -= count
            began = perf_counter()
            self.record.sent += await self.send(connection, count)
            self.record.sent_until = perf_counter()
            self.record.call_seconds.append(self.record.sent_until - began)

    async def run(self) -> dict[str, object]:
        await self.open()
        print("ready", flush=True)
        await asyncio.to_thread(sys.stdin.readline)
        self._began, used = perf_counter(), process_time()
        await self.play()
        record, used = self.record, process_time() - used
        print("finished", flush=True)
        await asyncio.to_thread(sys.stdin.readline)
        await self.close()
        return {
            "sent": record.sent,
            "received": record.received,
            "call_seconds": record.call_seconds,
            "send_seconds": max(0.0, record.sent_until - self._began),
            "receive_seconds": max(0.0, record.received_until - self._began),
            "cpu_seconds": used,
        }


def main(kind: type[Driver]) -> None:
    """For a module that is run: the order is its argument."""
    order = json.loads(sys.argv[1])
    with asyncio.Runner(loop_factory=fast_loop()) as runner:
        print(json.dumps(runner.run(kind(order).run())), flush=True)


def fast_loop() -> Callable[[], asyncio.AbstractEventLoop] | None:
    """uvloop's, where the interpreter has it; else the usual one."""
    try:
        import uvloop  # noqa: PLC0415 - not every peer's environment has it
    except ImportError:
        return None
    return uvloop.new_event_loop
