"""Runs the load generator's processes. Each process runs its share of a phase's connections on uvloop.

In a phase, the processes open connections and report their readiness, and the caller reads the counters. All processes
then start at once. The caller reads the counters again after all processes have reported that they are finished. During
a phase, each process shares only one counter.
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

from benchmarks.measure.tally import Progress, Tally, merge_tallies
from benchmarks.scenarios import FlowMaker
from benchmarks.studies.idle import IdleQueue

from .connection import Connection
from .flows import Pace, Phase
from .wire import Address, Requests

MAX_PROCESSES = 64


@dataclass(frozen=True, slots=True)
class PhaseOrder:
    """Describes a phase. If `idle_samples` is set, the phase measures an idle queue instead of running flows."""

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
    """Runs phases in load processes until `close`. `processes` is the default number of processes."""

    def __init__(self, processes: int) -> None:
        self._default_processes = processes
        self._context = multiprocessing.get_context("spawn")
        self._shared = self._context.RawArray(ctypes.c_longlong, MAX_PROCESSES)
        self._slots = cast("MutableSequence[int]", self._shared)
        self._pipes: list[Pipe] = []
        self._processes: list[BaseProcess] = []
        self._start_processes(processes)

    def run(self, order: PhaseOrder, mark: Callable[[], None] = lambda: None) -> Tally:
        """Runs one phase, and calls `mark` just before the phase starts and just after it ends."""
        orders = split_order(order, order.processes or self._default_processes)
        self._start_processes(len(orders))
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
        return merge_tallies(cast("Tally", pipe.recv()) for pipe in used)

    def _start_processes(self, count: int) -> None:
        while len(self._processes) < count:
            ours, theirs = self._context.Pipe()
            process_arguments = (theirs, self._shared, len(self._processes))
            process = self._context.Process(target=process_main, args=process_arguments, daemon=True)
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
        """Waits until each process has sent `word`.

        Raises RuntimeError with the reason if a process has failed.
        """
        for pipe in pipes:
            try:
                reply = pipe.recv()
            except EOFError:
                reply = "ended early; its output has the reason"
            if reply != word:
                raise RuntimeError(f"load process: {reply}")


def split_order(order: PhaseOrder, processes: int) -> list[PhaseOrder]:
    """Splits a phase into one part for each process. Every part has connections for all flows."""
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
    """Splits `total` into `parts` that differ by at most 1."""
    return [total // parts + (n < total % parts) for n in range(parts)]


def process_main(pipe: Pipe, slots: MutableSequence[int], slot: int) -> None:
    """Runs phases in a load process until the process receives None."""
    while (order := pipe.recv()) is not None:
        try:
            tally = uvloop.run(run_phase(order, pipe, slots, slot))
        except (OSError, RuntimeError) as error:
            pipe.send(repr(error))
        else:
            pipe.send(tally)


async def run_phase(order: PhaseOrder, pipe: Pipe, slots: MutableSequence[int], slot: int) -> Tally:
    tally = Tally()
    connections = await open_connections(order, tally)
    pipe.send("ready")
    pipe.recv()
    progress = Progress(order.to_send, order.to_receive, slots, slot)
    pace = Pace(order.rate, slot)
    phase = Phase(Requests(order.address), order.body, tally, progress, pace)
    pace.start()
    tally.started_at, cpu_before = perf_counter(), process_time()
    await run_flows(order, phase, connections)
    tally.generator_cpu_seconds = process_time() - cpu_before
    pipe.send("finished")
    for connection in connections:
        connection.close()
    return tally


async def open_connections(order: PhaseOrder, tally: Tally) -> list[Connection]:
    loop, address = asyncio.get_running_loop(), order.address
    count = 2 if order.idle_samples else order.connections
    return [
        (await loop.create_connection(lambda: Connection(tally), address.host, address.port))[1] for _ in range(count)
    ]


async def run_flows(order: PhaseOrder, phase: Phase, connections: list[Connection]) -> None:
    """Runs the flows. A broken connection counts as a bad response, while the other connections continue."""
    if order.idle_samples:
        await IdleQueue(phase, order.idle_samples).run(*connections)
        return
    for number, connection in enumerate(connections):
        connection.start(order.flows[number % len(order.flows)](phase))
    await asyncio.gather(*(connection.finished for connection in connections), return_exceptions=True)
