"""Runs one kind of noise: a process of low priority that uses the service as the noisy account until its input ends.

    python -m benchmarks.neighbours.noise '{"kind": "polls", …}'           # an `Order`; the study starts it

The process prints `ready` after its start, and its results (`Done`) at the end.
"""

import asyncio
import os
import random
import sys
from collections.abc import Callable
from contextlib import suppress
from time import perf_counter, process_time

import msgspec
import uvloop

from benchmarks.load.connection import Flow
from benchmarks.load.wire import Address, Due, Request, Requests, body_of
from benchmarks.measure.tally import Tally
from benchmarks.studies.idle import MAX_POLL_SECONDS

from .clients import Account, Receiver, connect, event_request, publish_request

# Because of their low priority, the noisy clients do not take processor time from the service and the quiet clients.
LOW_PRIORITY = 19
OPENED_AT_ONCE = 100
OPENING_SECONDS = 120.0
# In standard mode, a client waits at most this long after a refusal ("Retry behavior", AWS SDKs and Tools Reference
# Guide).
MOST_PAUSE_SECONDS = 20.0
LONG_BODY_BYTES = 1_048_576
SLOW_SECONDS = 5.0


class Order(msgspec.Struct):
    """Describes a noise: `count` connections that make requests of the kind `kind`. `names` are queues, a topic or a
    routing key.
    """

    kind: str
    endpoint: str
    account: Account
    count: int
    names: list[str]
    port: int = 0


class Done(msgspec.Struct):
    """Holds the results of a noise."""

    answers: int
    refused: int
    cpu_seconds: float
    samples: list[str] = []


class Noise:
    """Runs clients, and reconnects clients whose connections break."""

    def __init__(self, order: Order) -> None:
        self.order = order
        self.tally = Tally()
        self.opening = asyncio.Semaphore(OPENED_AT_ONCE)
        self.opened: set[int] = set()
        self.all_opened = asyncio.Event()
        self.dice = random.Random(1)
        self.cpu_before = 0.0

    def pause(self, failures: int) -> float:
        """Returns the pause before a retry, which depends on the number of consecutive failures."""
        return self.dice.random() * min(2.0**failures, MOST_PAUSE_SECONDS)

    def repeat(self, request: Request) -> Flow:
        """Sends the request repeatedly, with a growing pause after each refusal."""
        failures = 0
        while True:
            at = perf_counter() + self.pause(failures)
            answer = yield Due(request, at) if failures else request
            failures = failures + 1 if answer is None else 0

    async def client(self, number: int, address: Address, flow: Callable[[], Flow]) -> None:
        """Runs a client until it is cancelled."""
        while True:
            with suppress(OSError):
                async with self.opening:
                    connection = await connect(address, self.tally, number)
                self.opened.add(number)
                if len(self.opened) == self.order.count:
                    self.all_opened.set()
                connection.start(flow())
                with suppress(Exception):  # The connection counts errors.
                    await connection.finished
            await asyncio.sleep(self.pause(1))

    def requests(self) -> list[tuple[Address, Request]]:
        """Returns the address and the request of each client. All requests for one queue use the same signature."""
        order, found = self.order, []
        for name in order.names:
            address = order.account.address(order.endpoint, name)
            if order.kind == "polls":
                found.append((address, Requests(address).receive(1, MAX_POLL_SECONDS)))
            elif order.kind == "senders":
                found.append((address, Requests(address).send(body_of(LONG_BODY_BYTES))))
            elif order.kind == "policies":
                found.append((address, publish_request(address, name)))
        return [found[number % len(found)] for number in range(order.count)] if found else []

    async def serve_slowly(self) -> None:
        """Publishes one event. The event's webhooks respond late."""
        order, loop = self.order, asyncio.get_running_loop()

        def receive(_body: bytes) -> None:
            self.tally.received.append("")

        await loop.create_server(lambda: Receiver(receive, SLOW_SECONDS), "0.0.0.0", order.port)
        address = order.account.address(order.endpoint)
        connection = await connect(address, self.tally, 0)
        connection.start(self.once(event_request(address, order.account.bearer, order.names[0], "slow")))
        await connection.finished

    def once(self, request: Request) -> Flow:
        yield request

    async def run(self) -> None:
        """Runs a noise until the input ends, and prints a line when the noise has started."""
        clients = [
            asyncio.create_task(self.client(number, address, lambda request=request: self.repeat(request)))  # type: ignore[misc]
            for number, (address, request) in enumerate(self.requests())
        ]
        if self.order.kind == "webhooks":
            await self.serve_slowly()
        with suppress(TimeoutError):
            await asyncio.wait_for(self.all_opened.wait(), OPENING_SECONDS if clients else 0)
        self.cpu_before = process_time()
        sys.stdout.write("ready\n")
        sys.stdout.flush()
        await asyncio.get_running_loop().run_in_executor(None, sys.stdin.read)
        for client in clients:
            client.cancel()
        await asyncio.gather(*clients, return_exceptions=True)

    def done(self) -> Done:
        """Returns the results so far."""
        tally = self.tally
        answers = sum(len(seconds) for seconds in tally.call_seconds.values()) + len(tally.received)
        return Done(answers, tally.bad_answers, process_time() - self.cpu_before, tally.bad_samples)


async def main() -> None:
    noise = Noise(msgspec.json.decode(sys.argv[1], type=Order))
    await noise.run()
    sys.stdout.write(msgspec.json.encode(noise.done()).decode() + "\n")


if __name__ == "__main__":
    os.nice(LOW_PRIORITY)
    uvloop.run(main())
