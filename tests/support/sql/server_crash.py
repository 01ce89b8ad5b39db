"""Runs producers and consumers on a server, and kills all of the server's processes with SIGKILL while the actors run.

The actors use SQL. If an actor loses the connection during a call, the call's outcome is unknown, and the actor
continues with other work after the restart.
"""

import os
import random
import signal
import threading
import time
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

import psycopg

from tests.support.ledger import Ledger
from tests.support.sql import calls
from tests.support.sql.calls import Connection, Entry
from tests.support.wait import wait_until

HIDDEN_SECONDS = 3600  # No consumer sees a message again before the drain.


@dataclass
class Round:
    """Represents one run until the kill. `number` differs for each round, so the bodies of all rounds differ."""

    dsn: str
    arn: str
    ledger: Ledger
    number: int
    stop: threading.Event = field(default_factory=threading.Event)
    deletes: int = 0

    def produce(self, actor: int) -> None:
        """Sends batches, each in a separate transaction, until the connection breaks."""
        rnd = random.Random(f"{self.number} {actor}")
        with suppress(psycopg.OperationalError), psycopg.connect(self.dsn, autocommit=True) as connection:
            serial = 0
            while not self.stop.is_set():
                # Each round has separate groups. A receive without a response blocks its groups until the drain.
                group = f"{self.number}-{rnd.randrange(4)}" if self.arn.endswith(".fifo") else None
                bodies = [f"{self.number}-{actor}-{serial + i}" for i in range(rnd.choice((1, 10)))]
                serial += len(bodies)
                self.ledger.sending(bodies, group)
                entries = [Entry(body, None, group, body if group else None) for body in bodies]
                sent = calls.send_entries(connection, self.arn, entries)
                self.ledger.sent(bodies, [row.id for row in sent])
        self.stop.set()

    def consume(self, actor: int) -> None:
        """Receives and deletes most messages until the connection breaks."""
        rnd = random.Random(f"{self.number} {actor}")
        with suppress(psycopg.OperationalError), psycopg.connect(self.dsn, autocommit=True) as connection:
            while not self.stop.is_set():
                begun = time.time()
                deliveries = calls.receive(connection, self.arn, 10, HIDDEN_SECONDS)
                self.ledger.delivered(calls.bodies(deliveries), begun, HIDDEN_SECONDS)
                if deliveries and (self.arn.endswith(".fifo") or rnd.random() < 0.8):
                    delete(connection, self.ledger, deliveries)
                    self.deletes += 1
        self.stop.set()

    def start(self, actors: int) -> list[threading.Thread]:
        threads = [threading.Thread(target=self.produce, args=(i,)) for i in range(actors)]
        threads += [threading.Thread(target=self.consume, args=(i,)) for i in range(actors)]
        for thread in threads:
            thread.start()
        return threads


def delete(connection: Connection, ledger: Ledger, deliveries: list[calls.Delivery]) -> None:
    """Deletes the messages, and notes the deletes in the ledger."""
    bodies = calls.bodies(deliveries)
    ledger.deleting(bodies)
    outcomes = calls.delete(connection, deliveries)
    ledger.deleted(body for body, outcome in zip(bodies, outcomes, strict=True) if outcome == "deleted")
    ledger.kept(body for body, outcome in zip(bodies, outcomes, strict=True) if outcome != "deleted")


def run_until_killed(data: Path, round_: Round, deletes: int, actors: int = 4) -> None:
    """Runs the actors until the server has acknowledged the given number of deletes, and then kills the server."""
    threads = round_.start(actors)
    wait_until(lambda: round_.deletes >= deletes or round_.stop.is_set())
    kill_server(data)
    for thread in threads:
        thread.join()


def kill_server(data: Path) -> None:
    """Sends SIGKILL to the postmaster and all its children. Returns when all processes have exited."""
    postmaster = int((data / "postmaster.pid").read_text().split("\n")[0])
    pids = [postmaster, *children(postmaster)]
    for pid in pids:
        os.kill(pid, signal.SIGSTOP)  # The postmaster stops first, because it would clean up after its children.
    for pid in pids:
        os.kill(pid, signal.SIGKILL)
    wait_until(lambda: not any(is_running(pid) for pid in pids))


def children(pid: int) -> list[int]:
    text = Path(f"/proc/{pid}/task/{pid}/children").read_text()
    return [int(child) for child in text.split()]


def is_running(pid: int) -> bool:
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rsplit(")", maxsplit=1)[1].split()[0]
    except (FileNotFoundError, ProcessLookupError):
        return False
    return state != "Z"


def drain(connection: Connection, arn: str, ledger: Ledger) -> None:
    """Makes messages in flight visible, and then receives and deletes all messages."""
    while any(calls.counts(connection, arn)):
        show(connection, arn, ledger)
        begun = time.time()
        deliveries = calls.receive(connection, arn, 1000, HIDDEN_SECONDS, 1000)
        ledger.delivered(calls.bodies(deliveries), begun, HIDDEN_SECONDS)
        if deliveries:
            delete(connection, ledger, deliveries)


def show(connection: Connection, arn: str, ledger: Ledger) -> None:
    """Makes messages in flight visible without waiting for their visibility timeout."""
    query = "select public_id, body from queue.peek_messages(%s, 'in_flight', 0, 1000)"
    for public_id, body in connection.execute(query, (arn,)).fetchall():
        ledger.released([body])
        calls.change_by_id(connection, arn, public_id, 0)
