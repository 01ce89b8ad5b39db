"""Runs the design of pgmq as SQL, with pgbench.

Without HTTP or a client library, pgmq shows the lowest cost of a queue in a table. The database is an ephemeral
PostgreSQL with the same programs and settings as Penstock's. The benchmark counts the sent and deleted messages in the
table. In a receive scenario, one pgbench transaction reads and deletes, because a client of a service also makes two
calls.
"""

import itertools
import json
import subprocess
import tempfile
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from pathlib import Path
from time import perf_counter, sleep

import psycopg

from benchmarks.measure.cpu import Meter, Reading
from benchmarks.measure.outcome import Outcome, Plan, StageCallback, ignore_stages, latency_of
from benchmarks.pgbench import Pgbench, PgbenchRun, children_cpu_seconds, find_pgbench
from benchmarks.postgres import EphemeralPostgres, checkpoint, shown_settings
from benchmarks.scenarios import Scenario
from benchmarks.system import bytes_below

SCHEMA = Path(__file__).with_suffix(".sql")
READ = "select coalesce(array_agg(msg_id), '{{}}') as ids from pgmq.read('{queue}', 600, {size}) \\gset\n"
DELETE = "select count(*) from pgmq.delete('{queue}', :ids::bigint[]);\n"
SEND = "select pgmq.send('{queue}', '{body}'::jsonb);\n"
SEND_MANY = "select count(*) from pgmq.send_batch('{queue}', array_fill('{body}'::jsonb, array[{size}]));\n"
SEND_BULK = (
    "\\set n random(1, 10)\n"
    "select count(*) from pgmq.send_batch('{queue}', array_fill('{body}'::jsonb, array[:n::int]));\n"
)
BULK_MEAN = 5.5
FILL_BATCH = 20_000
queue_numbers = itertools.count(1)


@dataclass(frozen=True, slots=True)
class Script:
    """Holds a pgbench script, and the number of messages that one transaction moves."""

    text: str
    size: int


SCRIPTS = {
    "send_1": Script(SEND, 1),
    "send_10": Script(SEND_MANY, 10),
    "receive_delete_10": Script(READ + DELETE, 10),
    "receive_delete_1": Script(READ + DELETE, 1),
    "cycle": Script(SEND + READ + DELETE, 1),
    "queue_add": Script(SEND, 1),
    "queue_add_bulk": Script(SEND_MANY, 50),
    "worker_generic": Script(READ + DELETE, 1),
    "worker_concurrent": Script(READ + DELETE, 10),
}


class Pgmq:
    name = "pgmq"

    def __init__(self, binaries: Path, settings: Mapping[str, str]) -> None:
        self._server = EphemeralPostgres(binaries, settings)
        self._binaries = binaries

    def start(self) -> None:
        """Raises UnavailableError if the extension or pgbench is missing."""
        self._pgbench = Pgbench(find_pgbench(self._binaries), self._server.dsn)
        self._server.start()
        with psycopg.connect(self._server.dsn, autocommit=True) as connection:
            connection.execute(SCHEMA.read_bytes())
        self._meter = Meter({"postgresql": [self._server.pid]})

    def stop(self) -> None:
        self._server.stop()

    def supports(self, scenario: Scenario) -> bool:
        return scenario.name in SCRIPTS or scenario.name == "warski"

    def facts(self) -> dict[str, object]:
        return {"design": "pgmq, bare SQL through pgbench -M prepared", "postgresql": shown_settings(self._server.dsn)}

    def pss_bytes(self) -> dict[str, int | None]:
        return self._meter.pss_bytes()

    def disk_bytes(self) -> int | None:
        return bytes_below(self._server.data)

    def run(self, scenario: Scenario, plan: Plan, watch: StageCallback = ignore_stages) -> Outcome:
        """Makes one run on a new table, and drops the table afterwards."""
        if scenario.name == "warski":
            return self._warski(scenario, plan)
        script, queue = SCRIPTS[scenario.name], f"bench_{next(queue_numbers)}"
        text = script.text.format(queue=queue, body=document_of(plan), size=script.size)
        self._query_number(f"select pgmq.create_queue('{queue}')")
        watch("empty")
        if scenario.filled or plan.held:
            self._fill(queue, plan, plan.held + (plan.messages if scenario.filled else 0))
        checkpoint(self._server.dsn)
        watch("filled")
        opening = self._pgbench.opening_cpu(plan.connections, self._meter)
        held, before = self._count(queue), self._meter.read()
        bench = self._pgbench.run(text, plan.connections, -(-plan.messages // script.size // plan.connections))
        after, moved = self._meter.read(), self._moved(scenario, queue, held)
        watch("measured")
        self._query_number(f"select pgmq.drop_queue('{queue}')")
        self._check(scenario, bench, script, moved)
        return self._outcome(scenario, plan, bench, moved, (add_cpu(before, opening), after))

    def _warski(self, scenario: Scenario, plan: Plan) -> Outcome:
        """Runs two pgbench processes at once: one process sends, and the other process reads and deletes until the
        queue is empty."""
        queue, pairs = f"bench_{next(queue_numbers)}", max(1, plan.connections // 2)
        given = {"queue": queue, "body": document_of(plan), "size": 10}
        transactions = max(1, round(plan.messages / BULK_MEAN / pairs))
        self._query_number(f"select pgmq.create_queue('{queue}')")
        checkpoint(self._server.dsn)
        opening = 2 * self._pgbench.opening_cpu(pairs, self._meter)
        began, before = perf_counter(), self._meter.read()
        used = children_cpu_seconds()
        with ThreadPoolExecutor(1) as pool, tempfile.TemporaryDirectory() as folder:
            sending = pool.submit(self._pgbench.run, SEND_BULK.format(**given), pairs, transactions)
            reading = self._reader((READ + DELETE).format(**given), pairs, Path(folder))
            bench = sending.result()
            sent = self._query_number(f"select last_value from pgmq.q_{queue}_msg_id_seq")
            while self._count(queue):
                if reading.poll() is not None:
                    raise RuntimeError("the reading pgbench ended before the queue was empty")
                sleep(0.02)
            elapsed, after = perf_counter() - began, self._meter.read()
            reading.kill()
            reading.wait()
        self._query_number(f"select pgmq.drop_queue('{queue}')")
        outcome = self._outcome(scenario, plan, bench, sent, (add_cpu(before, opening), after))
        outcome.elapsed_seconds = elapsed
        outcome.sent_per_second = sent / bench.elapsed_seconds
        outcome.received_per_second = sent / elapsed
        outcome.generator_cpu_seconds = children_cpu_seconds() - used
        return outcome

    def _reader(self, text: str, clients: int, folder: Path) -> "subprocess.Popen[bytes]":
        """Starts a pgbench process that runs until the caller stops it."""
        script = folder / "read.sql"
        script.write_text(text)
        command = [*self._pgbench.command(script, clients), "-T", "3600", self._server.dsn]
        return subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)

    def _moved(self, scenario: Scenario, queue: str, held: int) -> int:
        """Counts the messages that were sent, or received and deleted, from the rows of the table.

        For a cycle, the count is the number of inserted rows minus the number of remaining rows.
        """
        if scenario.filled:
            return held - self._count(queue)
        if scenario.drains:
            return self._query_number(f"select last_value from pgmq.q_{queue}_msg_id_seq") - self._count(queue)
        return self._count(queue) - held

    def _check(self, scenario: Scenario, bench: PgbenchRun, script: Script, moved: int) -> None:
        if not scenario.drains and moved != bench.transactions * script.size:
            raise RuntimeError(f"pgmq {scenario.name}: {moved} rows for {bench.transactions} transactions")

    def _outcome(
        self, scenario: Scenario, plan: Plan, bench: PgbenchRun, moved: int, readings: tuple[Reading, Reading]
    ) -> Outcome:
        rate = moved / bench.elapsed_seconds
        return Outcome(
            system=self.name,
            scenario=scenario.name,
            plan=plan,
            messages=moved,
            elapsed_seconds=bench.elapsed_seconds,
            sent_per_second=0.0 if scenario.filled else rate,
            received_per_second=rate if scenario.drains else 0.0,
            latency=latency_of(bench.latencies_seconds),
            generator_cpu_seconds=bench.cpu_seconds,
            before=readings[0],
            after=readings[1],
        )

    def _fill(self, queue: str, plan: Plan, count: int) -> None:
        body = document_of(plan)
        with psycopg.connect(self._server.dsn, autocommit=True) as connection:
            query = "select count(*) from pgmq.send_batch(%s, array_fill(%s::jsonb, array[%s]))"
            for done in range(0, count, FILL_BATCH):
                connection.execute(query, [queue, body, min(FILL_BATCH, count - done)])
            connection.execute(f"analyze pgmq.q_{queue}".encode())

    def _count(self, queue: str) -> int:
        return self._query_number(f"select count(*) from pgmq.q_{queue}")

    def _query_number(self, query: str) -> int:
        with psycopg.connect(self._server.dsn, autocommit=True) as connection:
            row = connection.execute(query.encode()).fetchone()
        return int(row[0] or 0) if row is not None else 0


def document_of(plan: Plan) -> str:
    """Returns the body as JSON, which pgmq stores."""
    return plan.body if plan.payload == "uuids" else json.dumps(plan.body)


def add_cpu(reading: Reading, cpu_seconds: float) -> Reading:
    """Returns the reading with `cpu_seconds` added to PostgreSQL's CPU."""
    return replace(reading, cpu_seconds={"postgresql": reading.cpu_seconds["postgresql"] + cpu_seconds})
