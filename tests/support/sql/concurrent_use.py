"""Runs unreliable senders, receivers and maintenance on one queue.

A user can run the program with larger numbers on any migrated database, or without --dsn on a new server:

    python -m tests.support.sql.concurrent_use --messages 100000 [--groups 20] [--dsn …]

An actor does other work while its transaction is open, and receives repeatedly until a visibility timeout has ended. A
receiver that finds no message pauses for some milliseconds, because the other actors need the CPU. The seed determines
all random choices, but not their interleaving.
"""

from __future__ import annotations

import argparse
import json
import random
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

import psycopg

from penstock.postgres.statements.installation import MAINTAIN_INSTALLATION
from tests.support.ledger import Findings, Ledger
from tests.support.sql import calls
from tests.support.sql.calls import Connection, Counts, Delivery, Entry

VISIBILITY_SECONDS = 1
PAUSE_SECONDS = 0.005


@dataclass(frozen=True)
class Plan:
    """Defines the numbers of actors and calls. A `groups` of 0 means a standard queue. `maximum` is maxReceiveCount in
    a redrive policy.

    With `fair_groups`, messages in a standard queue have groups. The first group sends four of five messages.
    """

    messages: int = 4000
    senders: int = 4
    receivers: int = 6
    shards: int = 3
    groups: int = 0
    fair_groups: int = 0
    maximum: int | None = None
    crash_rate: float = 0.05
    seed: int = 1


@dataclass(frozen=True)
class Outcome:
    """Contains the results after the last delete and the last maintenance."""

    findings: Findings
    errors: list[str]
    counts: Counts
    moved: int  # to the dead-letter queue
    rows: dict[str, int]
    history: dict[str, int]
    seconds: float


@dataclass
class SharedState:
    """Contains the state that the actors share."""

    dsn: str
    plan: Plan
    arn: str
    ledger: Ledger
    errors: list[str] = field(default_factory=list)
    stop: threading.Event = field(default_factory=threading.Event)

    @contextmanager
    def connection(self, autocommit: bool = False) -> Iterator[Connection]:
        # On a busy machine, a wait for a lock can exceed the role's lock_timeout. A deadlock is still an error.
        connection: Connection = psycopg.connect(self.dsn, autocommit=autocommit, options="-c lock_timeout=0")
        try:
            yield connection
        finally:
            connection.close()

    def guarded(self, actor: Callable[[SharedState, int], None], number: int) -> None:
        """Runs an actor. An error ends the actor, and the run fails."""
        try:
            actor(self, number)
        except Exception as error:  # noqa: BLE001 - every error is a finding
            self.errors.append(f"{actor.__name__}: {error!r}")
            self.stop.set()


def send_share(state: SharedState, number: int) -> None:
    """Sends a sender's share as single messages and batches. Rolls some messages back, delays some, and sends some in a
    transaction that stays open for a while.
    """
    rnd = random.Random(f"{state.plan.seed} sender {number}")
    share = state.plan.messages // state.plan.senders
    with state.connection() as one, state.connection() as other:
        if number == 0 and not state.plan.groups:
            other.isolation_level = psycopg.IsolationLevel.REPEATABLE_READ
        connections, serial = (one, other), 0
        held: list[Callable[[], None]] = []
        while serial < share:
            size = min(rnd.choice((1, 1, 5, 10)), share - serial)
            bodies = [f"{number}-{serial + i}" for i in range(size)]
            serial += size
            finish = begin_send(state, rnd, connections[len(held)], bodies)
            if rnd.random() < 0.1 and not held and not state.plan.groups:
                # The transaction stays open while the other connection continues. The plan excludes FIFO queues from
                # open transactions, because the other connection would wait for the transaction's locks.
                held.append(finish)
                continue
            finish()
            if held and rnd.random() < 0.3:
                held.pop()()
        for finish in held:
            finish()


def begin_send(state: SharedState, rnd: random.Random, connection: Connection, bodies: list[str]) -> Callable[[], None]:
    """Sends in an open transaction, and returns a function that commits or rolls back."""
    entries = build_entries(state.plan, rnd, bodies)
    for entry in entries:
        state.ledger.sending([entry.body], entry.group)
    if rnd.random() < 0.05:  # Rolls back a send to a savepoint.
        connection.execute("savepoint part")
        part = entries[0]._replace(body="never", deduplication=f"never {bodies[0]}")
        calls.send_entries(connection, state.arn, [part])
        connection.execute("rollback to savepoint part")
    sent = calls.send_entries(connection, state.arn, entries)
    if any(row.error for row in sent) or len(sent) != len(bodies):
        raise AssertionError(f"not all were accepted: {sent}")
    rolls_back = rnd.random() < 0.1

    def finish() -> None:
        if rolls_back:
            connection.rollback()
            state.ledger.withdrawn(bodies)
            return
        connection.commit()
        state.ledger.sent(bodies, [row.id for row in sent])

    return finish


def build_entries(plan: Plan, rnd: random.Random, bodies: list[str]) -> list[Entry]:
    """Returns entries. Some messages for standard queues have a delay. A call to a FIFO queue usually has one group,
    and sometimes has two or three groups.
    """
    if not plan.groups:
        delay = 1 if rnd.random() < 0.03 else None
        return [Entry(body, delay, system=choose_group(plan, rnd)) for body in bodies]
    groups = [f"g{rnd.randrange(plan.groups)}" for _ in range(3 if rnd.random() < 0.3 else 1)]
    return [Entry(body, None, rnd.choice(groups), body) for body in bodies]


def choose_group(plan: Plan, rnd: random.Random) -> str | None:
    if not plan.fair_groups:
        return None
    number = 0 if rnd.random() < 0.8 else rnd.randrange(plan.fair_groups)
    return json.dumps({"MessageGroupId": f"group{number}"})


def receive_until_stopped(state: SharedState, number: int) -> None:
    """Runs a receiver, which acknowledges all or some messages, crashes, rolls back, changes visibility, or deletes by
    id.
    """
    rnd = random.Random(f"{state.plan.seed} receiver {number}")
    while not state.stop.is_set():
        with state.connection() as connection:
            while not state.stop.is_set() and receive_once(state, rnd, connection):
                pass


def receive_once(state: SharedState, rnd: random.Random, connection: Connection) -> bool:
    """Makes one receive and the following calls. Returns False after a simulated crash, which closes the connection."""
    begun = time.time()
    visibility = 0 if rnd.random() < 0.01 and state.plan.maximum is None else VISIBILITY_SECONDS
    deliveries = calls.receive(connection, state.arn, rnd.choice((1, 3, 10)), visibility)
    luck = rnd.random()
    if luck < state.plan.crash_rate:
        return False  # The crash happens in the middle of the transaction.
    if luck < 2 * state.plan.crash_rate:
        connection.rollback()
        return True
    connection.commit()
    state.ledger.delivered(calls.bodies(deliveries), begun, visibility)
    if not deliveries:
        state.stop.wait(PAUSE_SECONDS)
    if not deliveries or luck >= 3 * state.plan.crash_rate:
        acknowledge(state, rnd, connection, deliveries)
        return True
    return False  # The messages become visible after their visibility timeout.


def acknowledge(state: SharedState, rnd: random.Random, connection: Connection, deliveries: list[Delivery]) -> None:
    """Sometimes changes the visibility of some messages. Then deletes all messages or the first half of them."""
    if deliveries and rnd.random() < 0.05:
        hide(state, connection, deliveries[:1], 0)
        deliveries = deliveries[1:]
    elif deliveries and rnd.random() < 0.05:
        hide(state, connection, deliveries[-2:], 2)
    if deliveries and rnd.random() < 0.2:
        deliveries = deliveries[: max(1, len(deliveries) // 2)]
    if deliveries:
        remove(state, connection, deliveries, by_id=rnd.random() < 0.05)


def hide(state: SharedState, connection: Connection, deliveries: list[Delivery], seconds: int) -> None:
    bodies, begun = calls.bodies(deliveries), time.time()
    state.ledger.released(bodies)
    outcomes = calls.change(connection, deliveries, seconds)
    connection.commit()
    changed = [body for body, outcome in zip(bodies, outcomes, strict=True) if outcome == "changed"]
    state.ledger.held(changed, begun, seconds)


def remove(state: SharedState, connection: Connection, deliveries: list[Delivery], by_id: bool) -> None:
    bodies = calls.bodies(deliveries)
    state.ledger.deleting(bodies)
    if by_id:
        there = calls.delete_by_id(connection, state.arn, *(d.public_id for d in deliveries))
        hits = [d.public_id in there for d in deliveries]
    else:
        hits = [outcome == "deleted" for outcome in calls.delete(connection, deliveries)]
    connection.commit()
    state.ledger.deleted(body for body, hit in zip(bodies, hits, strict=True) if hit)
    state.ledger.kept(body for body, hit in zip(bodies, hits, strict=True) if not hit)


def maintain_until_stopped(state: SharedState, number: int) -> None:
    """Runs maintenance without a pause, a process that waits for messages, and an unrelated transaction with an old
    snapshot.
    """
    with state.connection(autocommit=True) as connection, state.connection() as foreign:
        foreign.isolation_level = psycopg.IsolationLevel.REPEATABLE_READ
        while not state.stop.is_set():
            foreign.execute("select count(*) from queue.queues")
            for _ in range(20):
                calls.maintain(connection, state.arn)
                calls.call(connection, MAINTAIN_INSTALLATION, 1000, 30, None)
                connection.execute("select queue.watch_queues(%s, gen_random_uuid())", ([state.arn],))
            foreign.rollback()


def run(dsn: str, plan: Plan) -> Outcome:
    """Runs the whole plan on a new queue in a migrated database."""
    name, started = f"run{time.time_ns()}" + (".fifo" if plan.groups else ""), time.monotonic()
    with psycopg.connect(dsn, autocommit=True) as db:
        dead = calls.create(db, f"dead-{name}")
        attributes = {"RedrivePolicy": calls.redrive(dead, plan.maximum)} if plan.maximum else {}
        arn = calls.create(db, name, plan.shards, **attributes)
        state = SharedState(dsn, plan, arn, Ledger(plan.maximum))
        act(state, db, dead)
        findings_rows = settle(db, state, dead)
        return Outcome(
            state.ledger.findings(), state.errors, calls.counts(db, arn), findings_rows,
            {table: calls.rows_of(db, table, arn) for table in ("log", "lease", "side", "hole", "deferred")},
            calls.history(db, arn), time.monotonic() - started,
        )  # fmt: skip


def act(state: SharedState, db: Connection, dead: str) -> None:
    """Runs the actors until all sent messages are gone."""
    plan = state.plan
    senders = [threading.Thread(target=state.guarded, args=(send_share, i)) for i in range(plan.senders)]
    others = [
        threading.Thread(target=state.guarded, args=(receive_until_stopped, i)) for i in range(plan.receivers)
    ] + [threading.Thread(target=state.guarded, args=(maintain_until_stopped, 0))]
    for thread in (*senders, *others):
        thread.start()
    for thread in senders:
        thread.join()
    while not state.stop.is_set() and any(calls.counts(db, state.arn)):
        state.stop.wait(0.05)
    state.stop.set()
    for thread in others:
        thread.join()


def settle(db: Connection, state: SharedState, dead: str) -> int:
    """Receives all dead letters, notes them in the ledger, and runs maintenance until no work is left. Returns the
    number of moved messages.
    """
    moved = 0
    # One receive takes all messages in a group, because messages in flight block the rest.
    while deliveries := calls.receive(db, dead, 1000, 3600, lease_size=1000):
        state.ledger.moved(calls.bodies(deliveries))
        moved += len(deliveries)
    if calls.counts(db, dead).visible:
        state.errors.append("messages are left in the dead-letter queue")
    while calls.maintain(db, state.arn):
        pass
    return moved


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", maxsplit=1)[0])
    parser.add_argument("--messages", type=int, default=Plan.messages)
    parser.add_argument("--senders", type=int, default=Plan.senders)
    parser.add_argument("--receivers", type=int, default=Plan.receivers)
    parser.add_argument("--shards", type=int, default=Plan.shards)
    parser.add_argument("--groups", type=int, default=0, help="message groups of a FIFO queue; 0: standard")
    parser.add_argument("--fair-groups", type=int, default=0, help="message groups of a standard queue")
    parser.add_argument("--maximum", type=int, default=None, help="maxReceiveCount")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--dsn", help="a migrated database; without it, a new server")
    chosen = vars(parser.parse_args(arguments))
    dsn = chosen.pop("dsn")
    if dsn:
        outcome = run(dsn, Plan(**chosen))
    else:
        from tests.support.database import running_test_server

        with running_test_server() as server, server.database() as database:
            outcome = run(database.api_dsn, Plan(**chosen))
    sys.stdout.write(f"{outcome}\n")
    return 1 if outcome.findings.violations or outcome.errors else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
