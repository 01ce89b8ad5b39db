"""Processes of load: each runs its share of a phase's connections on uvloop.

A phase is: connections are opened, all processes say so, the caller reads the counters, all start at once, all say that
they have finished, the caller reads the counters again. Nothing is shared while it runs but one counter a process.
"""

import asyncio
import ctypes
import multiprocessing
from collections.abc import Callable, MutableSequence
from contextlib import suppress
from dataclasses import dataclass, replace
from multiprocessing.connection import Connection as Pipe
from multiprocessing.process import BaseProcess
from time import perf_counter, process_time
from typing import cast

import uvloop

from benchmarks.measure.progress import Progress
from benchmarks.measure.tally import Tally, merged
from benchmarks.scenarios import FlowMaker
from benchmarks.studies.idle import IdleQueue

from .connection import Connection
from .flows import Phase
from .pace import Pace
from .wire import Address, Requests

MOST_PROCESSES = 64


@dataclass(frozen=True, slots=True)
class Order:
    """A phase. With `idle_samples` the flows are ignored and an idle queue is measured."""

    address: Address
    body: str
    flows: tuple[FlowMaker, ...]
    connections: int
    to_send: int = 0
    to_receive: int = 0
    idle_samples: int = 0
    processes: int = 0
    rate: float = 0.0


class Fleet:
    """Load processes, `processes` unless an order says otherwise; kept for many phases; close it."""

    def __init__(self, processes: int) -> None:
        self._usual = processes
        self._context = multiprocessing.get_context("spawn")
        self._shared = self._context.RawArray(ctypes.c_longlong, MOST_PROCESSES)
        self._slots = cast("MutableSequence[int]", self._shared)
        self._pipes: list[Pipe] = []
        self._processes: list[BaseProcess] = []
        self._grow(processes)

    def run(self, order: Order, mark: Callable[[], None] = lambda: None) -> Tally:
        """Run one phase; `mark` is called just before its start and just after its end."""
        orders = shares(order, order.processes or self._usual)
        self._grow(len(orders))
        used = self._pipes[: len(orders)]
        for slot in range(len(self._slots)):
            self._slots[slot] = 0
        for pipe, share in zip(used, orders, strict=True):
            pipe.send(share)
        self._expect(used, "ready")
        mark()
        for pipe in used:
            pipe.send("go")
        self._expect(used, "finished")
        mark()
        return merged(cast("Tally", pipe.recv()) for pipe in used)

    def _grow(self, count: int) -> None:
        while len(self._processes) < count:
            ours, theirs = self._context.Pipe()
            given = (theirs, self._shared, len(self._processes))
            process = self._context.Process(target=serve, args=given, daemon=True)
            process.start()
            self._pipes.append(ours)
            self._processes.append(process)

    def close(self) -> None:
        for pipe in self._pipes:
            with suppress(BrokenPipeError):
                pipe.send(None)
        for process in self._processes:
            process.join(timeout=5)
            process.kill()

    def _expect(self, pipes: list[Pipe], word: str) -> None:
        """Raises RuntimeError with the reason when a process could not go on."""
        for pipe in pipes:
            try:
                said = pipe.recv()
            except EOFError:
                said = "ended early; its own output says why"
            if said != word:
                raise RuntimeError(f"load process: {said}")


def shares(order: Order, processes: int) -> list[Order]:
    """The parts of a phase, one a process; every part has connections for each of the flows."""
    if order.idle_samples:
        return [order]
    used = max(1, min(processes, order.connections // len(order.flows)))
    kinds = len(order.flows)
    groups = split(max(1, order.connections // kinds), used)
    budgets = split(order.to_send, used)
    return [
        replace(order, connections=group * kinds, to_send=budget, rate=order.rate / used)
        for group, budget in zip(groups, budgets, strict=True)
    ]


def split(total: int, parts: int) -> list[int]:
    """`total` in `parts` as equal as can be."""
    return [total // parts + (n < total % parts) for n in range(parts)]


def serve(pipe: Pipe, slots: MutableSequence[int], slot: int) -> None:
    """Main function of a load process: phases until None comes."""
    while (order := pipe.recv()) is not None:
        try:
            tally = uvloop.run(work(order, pipe, slots, slot))
        except (OSError, RuntimeError) as error:
            pipe.send(repr(error))
        else:
            pipe.send(tally)


async def work(order: Order, pipe: Pipe, slots: MutableSequence[int], slot: int) -> Tally:
    tally = Tally()
    connections = await opened(order, tally)
    pipe.send("ready")
    pipe.recv()
    progress = Progress(order.to_send, order.to_receive, slots, slot)
    pace = Pace(order.rate, slot)
    phase = Phase(Requests(order.address), order.body, tally, progress, pace)
    pace.start()
    tally.started_at, cpu_before = perf_counter(), process_time()
    await played(order, phase, connections)
    tally.generator_cpu_seconds = process_time() - cpu_before
    pipe.send("finished")
    for connection in connections:
        connection.close()
    return tally


async def opened(order: Order, tally: Tally) -> list[Connection]:
    loop, address = asyncio.get_running_loop(), order.address
    count = 2 if order.idle_samples else order.connections
    return [
        (await loop.create_connection(lambda: Connection(tally), address.host, address.port))[1]
        for _ in range(count)
    ]


async def played(order: Order, phase: Phase, connections: list[Connection]) -> None:
    """A connection that breaks is counted as a bad answer; the others go on."""
    if order.idle_samples:
        await IdleQueue(phase, order.idle_samples).run(*connections)
        return
    for number, connection in enumerate(connections):
        connection.start(order.flows[number % len(order.flows)](phase))
    await asyncio.gather(*(connection.finished for connection in connections), return_exceptions=True)
