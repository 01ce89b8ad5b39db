"""Drives the library of another queue in a separate process. The driver needs only the standard library.

The caller starts the driver with an order (JSON) as its argument, waits for the line "ready", writes a line to start
the driver, and reads one line of JSON. This line contains the sent and received ids, the durations, and the driver's
processor time.
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
CHECK_SECONDS = 0.005  # between two checks of the received messages
Order = dict[str, Any]


@dataclass
class Record:
    """Holds the ids and times that the driver reports."""

    sent: list[str] = field(default_factory=list)
    received: list[str] = field(default_factory=list)
    call_seconds: list[float] = field(default_factory=list)
    sent_until: float = 0.0
    received_until: float = 0.0

    def record_received(self, ids: list[str]) -> None:
        self.received += ids
        self.received_until = perf_counter()


class Driver:
    """Sends messages to one queue, and receives messages from this queue. A subclass implements connections, sends and
    receives."""

    def __init__(self, order: Order) -> None:
        self.order = order
        self.record = Record()
        self._left = int(order["to_send"])

    async def open(self) -> None:
        """Connects, and creates the queue if necessary."""

    async def close(self) -> None:
        """Disconnects."""

    async def send(self, connection: int, count: int) -> list[str]:
        """Sends `count` messages with one call, and returns the acknowledged ids."""
        raise NotImplementedError

    async def receive(self, on_received: Callable[[list[str]], None]) -> None:
        """Until cancelled, receives and acknowledges messages, and calls `on_received` with the acknowledged ids."""
        raise NotImplementedError

    async def run_order(self) -> None:
        """Sends all messages of the order, and concurrently receives if the order requests receives."""
        if self.order["idle"]:
            await self._send_one_by_one()
            return
        expected = int(self.order["to_receive"])
        receiving = asyncio.create_task(self.receive(self.record.record_received)) if expected else None
        await asyncio.gather(*(self._send_all(n) for n in range(int(self.order["senders"]))))
        while receiving is not None and not self._receiving_ended(receiving, expected):  # noqa: ASYNC110
            # A check every few milliseconds needs less CPU time than an event for each message.
            await asyncio.sleep(CHECK_SECONDS)
        if receiving is not None:
            receiving.cancel()
            results = await asyncio.gather(receiving, return_exceptions=True)
            for error in results:
                if isinstance(error, Exception):
                    raise error

    async def _send_one_by_one(self) -> None:
        """Sends messages one by one to a waiting consumer, and measures the time from each send to the message's
        arrival."""
        came = asyncio.Event()
        began = 0.0

        def on_received(ids: list[str]) -> None:
            self.record.record_received(ids)
            self.record.call_seconds.append(self.record.received_until - began)
            came.set()

        receiving = asyncio.create_task(self.receive(on_received))
        for _ in range(int(self.order["to_send"])):
            await asyncio.sleep(random.uniform(*PAUSE_SECONDS))
            came.clear()
            began = perf_counter()
            self.record.sent += await self.send(0, 1)
            self.record.sent_until = perf_counter()
            await came.wait()
        receiving.cancel()

    def _receiving_ended(self, receiving: "asyncio.Task[None]", expected: int) -> bool:
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
        await self.run_order()
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
    """Runs the order in the argument, as the main function of a driver module."""
    order = json.loads(sys.argv[1])
    with asyncio.Runner(loop_factory=fast_loop()) as runner:
        print(json.dumps(runner.run(kind(order).run())), flush=True)


def fast_loop() -> Callable[[], asyncio.AbstractEventLoop] | None:
    """Returns uvloop's event loop if the interpreter has uvloop, and otherwise None, which selects the loop of
    asyncio."""
    try:
        import uvloop  # noqa: PLC0415 - not every peer's environment has it
    except ImportError:
        return None
    return uvloop.new_event_loop
