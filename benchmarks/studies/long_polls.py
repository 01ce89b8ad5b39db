"""Measures the cost of waiting connections: first with long polls on empty queues, and then with one message for each
queue.

The goal is that 1,000 long polls use at most 1 % of a core and 10 database connections.
"""

import asyncio
from collections import Counter
from time import perf_counter

import psycopg
import uvloop

from benchmarks.load.connection import Connection, Flow
from benchmarks.load.wire import Address, Requests, address_of, call, create_queue, decode_receive, delete_queue
from benchmarks.measure.tally import Tally
from benchmarks.penstock import Penstock
from benchmarks.report.rows import Row, text

from .idle import MAX_POLL_SECONDS
from .study import Bench, Findings, Study

CONNECTIONS = 1_000
QUEUES = 100
SECONDS = 60
WARM_UP_SECONDS = 5
GOAL_PERCENT, GOAL_CONNECTIONS = 1.0, 10


class WaitingConsumers:
    """Runs consumers in long polls, and counts the messages that they have received."""

    def __init__(self, penstock: Penstock, connections: int, queues: int) -> None:
        self._penstock = penstock
        self._connections = connections
        self.addresses = [address_of(penstock.endpoint, f"bench-idle-{n}") for n in range(queues)]
        self.tally = Tally()
        self.received: Counter[str] = Counter()
        self.arrived_at: list[float] = []

    def poll(self, address: Address) -> Flow:
        requests = Requests(address)
        receive = requests.receive(1, MAX_POLL_SECONDS)
        while True:
            answer = yield receive
            for message in decode_receive(answer).messages if answer is not None else []:
                self.arrived_at.append(perf_counter())
                self.received[message.body] += 1
                yield requests.delete(message.receipt_handle)

    async def open(self) -> list[Connection]:
        loop, connections = asyncio.get_running_loop(), []
        for number in range(self._connections):
            address = self.addresses[number % len(self.addresses)]
            _, connection = await loop.create_connection(lambda: Connection(self.tally), address.host, address.port)
            connection.start(self.poll(address))
            connections.append(connection)
        return connections

    async def run(self, seconds: float) -> Row:
        """Measures the CPU time without messages, and then checks that the single message of each queue arrives
        once."""
        connections = await self.open()
        await asyncio.sleep(WARM_UP_SECONDS)
        before, began = self._penstock.meter.read(), perf_counter()
        await asyncio.sleep(seconds)
        after, elapsed = self._penstock.meter.read(), perf_counter() - began
        used = {part: after.cpu_seconds[part] - spent for part, spent in before.cpu_seconds.items()}
        sessions = client_connections(self._penstock.dsn)
        sent_at = await asyncio.to_thread(self.send)
        await asyncio.sleep(2)
        bad_answers = self.tally.bad_answers
        for connection in connections:
            connection.close()
        await asyncio.gather(*(connection.finished for connection in connections), return_exceptions=True)
        percent = sum(used.values()) / elapsed * 100
        return {
            "connections": self._connections,
            "queues": len(self.addresses),
            "seconds": round(elapsed),
            "CPU % of a core": round(percent, 2),
            **{f"{part} %": round(spent / elapsed * 100, 2) for part, spent in used.items()},
            "database connections": sessions,
            "longest wake-up ms": round(max((a - sent_at for a in self.arrived_at), default=0.0) * 1000, 1),
            "lost": sum(1 for address in self.addresses if self.received[address.queue] == 0),
            "twice": sum(count - 1 for count in self.received.values()),
            "bad answers": bad_answers,
            "goals": "reached" if percent <= GOAL_PERCENT and sessions <= GOAL_CONNECTIONS else "MISSED",
        }

    def send(self) -> float:
        """Sends one message to each queue, and returns the time of the first send."""
        began = perf_counter()
        for address in self.addresses:
            call(address, "SendMessage", {"QueueUrl": address.queue_url, "MessageBody": address.queue})
        return began


def client_connections(dsn: str) -> int:
    """Returns the number of connections of other clients to the whole server."""
    query = "select count(*) - 1 from pg_stat_activity where backend_type = 'client backend'"
    with psycopg.connect(dsn, autocommit=True) as connection:
        row = connection.execute(query).fetchone()
    assert row is not None
    return int(row[0])


def measure(bench: Bench) -> Findings:
    """Runs the study on a separate service, because other studies would leave open connections."""
    penstock = bench.another_penstock()
    waiting = WaitingConsumers(penstock, bench.scaled(CONNECTIONS, 20), bench.scaled(QUEUES, 5))
    for address in waiting.addresses:
        create_queue(address)
    row = uvloop.run(waiting.run(max(5.0, SECONDS * float(bench.options.scale))))
    for address in waiting.addresses:
        delete_queue(address)
    facts = penstock.facts() | {"pss_bytes": penstock.pss_bytes()}
    penstock.stop()
    print(text([row]), flush=True)
    valid = not (row["lost"] or row["twice"] or row["bad answers"])
    return Findings([{"system": "penstock", "facts": facts, "rows": [row], "marks": []}], valid)


STUDIES = [Study("long_polls", "1,000 idle long polls", measure, alone=True)]
