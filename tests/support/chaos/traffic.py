"""Runs producers and consumers that continue under all faults, and note everything in ledgers.

standard   batches; some messages are left to come again, some are deleted with an older handle
fifo       batches into a group of the producer's own, repeated with their deduplication ids until acknowledged
poison     no consumer deletes: each message is received twice, then found in the dead-letter queue
mapped     a mapping posts batches to a target that handles some messages never: those are found as dead letters
events     each publication goes to two queues and a webhook, or to none
ticks      a schedule fires every second
"""

from __future__ import annotations

import json
import random
import threading
import time
from collections import Counter, deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import datetime
from functools import partial
from typing import Any, Final

from tests.support.chaos.connection import Connection, NoAnswerError, RefusedError
from tests.support.chaos.webhooks import NEVER, Endpoint, Target
from tests.support.ledger import Ledger

VISIBILITY_SECONDS: Final = 5
_URL: Final = "http://127.0.0.1/000000000000/"
_QUEUES: Final = {
    "standard": {},
    "fifo.fifo": {"FifoQueue": "true"},
    "dead": {},
    "poison": {
        "VisibilityTimeout": "1",
        "RedrivePolicy": '{"deadLetterTargetArn": "arn:aws:sqs:us-east-1:000000000000:dead", "maxReceiveCount": 2}',
    },
    "mapped-dead": {},
    "mapped": {
        "RedrivePolicy": '{"deadLetterTargetArn": "arn:aws:sqs:us-east-1:000000000000:mapped-dead", '
        '"maxReceiveCount": 5}',
    },
    "events-a": {},
    "events-b": {},
    "ticks": {},
}
_LARGEST_BACKLOG: Final = 2000
_COUNTS: Final = [f"ApproximateNumberOfMessages{which}" for which in ("", "NotVisible", "Delayed")]


@dataclass
class Traffic:
    """Holds what the actors share. `calls` has for each kind the times when the last answered calls began and ended."""

    ports: list[int]
    endpoint: Endpoint
    target: Target
    seed: int
    ledgers: dict[str, Ledger] = field(default_factory=dict)
    calls: dict[str, deque[tuple[float, float]]] = field(default_factory=dict)
    tally: Counter[str] = field(default_factory=Counter)
    errors: list[str] = field(default_factory=list)
    ticks: dict[str, set[str]] = field(default_factory=dict)
    """Maps message ids to the schedule's time of the occurrence."""
    rewound_ticks: list[tuple[float, float]] = field(default_factory=list)
    """Lists times whose occurrences may fire again, because the database was rewound."""
    lies: set[str] = field(default_factory=set)
    """Lists what a negative control lets the actors do without telling the ledgers."""
    stopped_sending: threading.Event = field(default_factory=threading.Event)
    stopped: threading.Event = field(default_factory=threading.Event)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def prepare(self) -> None:
        """Creates the queues, subscriptions and the schedule."""
        connection = Connection(self.ports)
        for name, attributes in _QUEUES.items():
            connection.sqs(
                "CreateQueue",
                QueueName=name,
                Attributes={"VisibilityTimeout": str(VISIBILITY_SECONDS), **attributes},
            )
            self.ledgers.setdefault(name, Ledger(maximum=2 if name == "poison" else None))
        self.target.first = partial(self.count, "mapped deleted")
        for target in ({"queue_name": "events-a"}, {"queue_name": "events-b"}):
            connection.request("POST", "/v1/events/chaos.*/subscriptions", target)
        mapping = {"queue": "mapped", "function": self.target.url, "report_failures": True}
        if not connection.request("GET", "/v1/mappings", None)["mappings"]:
            connection.request("POST", "/v1/mappings", mapping)
        webhook = {"protocol": "http", "endpoint": self.endpoint.url}
        connection.request("POST", "/v1/events/chaos.*/subscriptions", webhook)
        connection.request(
            "PUT",
            "/v1/schedules/tick",
            {
                "name": "tick",
                "every": "1s",
                "catchup": True,
                "catchup_limit": 1_000,
                "target": {"queue": "ticks", "message": "tick"},
            },
        )
        connection.close()

    @contextmanager
    def actors(self) -> Iterator[None]:
        """Runs all actors to the end of the block."""
        run: list[Callable[[Actor], None]] = [
            *[produce] * 2,
            *[consume] * 3,
            *[produce_fifo] * 2,
            *[consume_fifo] * 3,
            produce_poison,
            consume_poison,
            consume_dead_letters,
            produce_mapped,
            consume_given_up,
            publish,
            consume_events_a,
            consume_events_b,
            consume_ticks,
        ]
        threads = [
            threading.Thread(target=self._guarded, args=(work, number), daemon=True)
            for number, work in enumerate(run)
        ]
        for thread in threads:
            thread.start()
        try:
            yield
        finally:
            self.stopped_sending.set()
            self.stopped.set()
            for thread in threads:
                thread.join()

    def _guarded(self, work: Callable[[Actor], None], number: int) -> None:
        actor = Actor(self, number, work.__name__)
        try:
            while not self.stopped.is_set():
                try:
                    work(actor)
                except NoAnswerError as error:
                    actor.unanswered(error)
        except Exception as error:  # noqa: BLE001 - every error is a finding
            self.errors.append(f"{work.__name__}: {error!r}")
        finally:
            actor.connection.close()

    def rewound(self, moment: float, cut: float) -> None:
        """Notes that the database is in its state of `moment` since `cut`. Messages from the time between may be gone,
        or come again."""
        for ledger in self.ledgers.values():
            ledger.rewound(moment, cut)
        self.rewound_ticks.append((moment - 1, time.time() + 1))

    def count(self, what: str, number: int = 1) -> None:
        with self._lock:
            self.tally[what] += number

    def answered(self, kind: str, begun: float) -> None:
        with self._lock:
            self.calls.setdefault(kind, deque(maxlen=20_000)).append((begun, time.time()))

    def works_since(self, kind: str, since: float) -> float | None:
        """Returns when the first call of this kind ended that began since then."""
        with self._lock:
            return min((ended for begun, ended in self.calls.get(kind, ()) if begun >= since), default=None)

    def backlog(self, queue: str) -> int:
        return self.tally[f"{queue} sent"] - self.tally[f"{queue} deleted"]

    def is_drained(self) -> bool:
        """Returns whether no queue holds a message and no webhook is under way. Returns False while that is not known.

        It asks a queue before its dead-letter queue, so that it finds a message that moves in between in one of them.
        """
        connection = Connection(self.ports)
        try:
            for name in reversed(_QUEUES):
                if name == "ticks":
                    continue
                answer = connection.sqs("GetQueueAttributes", QueueUrl=_URL + name, AttributeNames=_COUNTS)
                if any(answer["Attributes"][count] != "0" for count in _COUNTS):
                    return False
            pending = connection.request("GET", "/v1/deliveries?state=pending", None)
        except NoAnswerError:
            return False
        finally:
            connection.close()
        return not pending


def scheduled_for(fired: str) -> float:
    """Returns the time at which an occurrence was due, from the header of its message."""
    return datetime.fromisoformat(json.loads(fired)["scheduled_for"]).timestamp()


class Actor:
    """Holds a thread's connection, random numbers and serial number."""

    def __init__(self, traffic: Traffic, number: int, name: str) -> None:
        self.traffic = traffic
        self.name = name
        self.random = random.Random(f"{traffic.seed} {number}")
        self.connection = Connection(traffic.ports, number)
        self.number = number
        self.serial = 0
        self.older: dict[str, str] = {}

    def bodies(self, count: int) -> list[str]:
        """Returns bodies that differ from all others, including those of other runs, whose deduplication ids are known
        for five minutes."""
        self.serial += count
        run = f"{self.traffic.seed:x}-{self.number}"
        return [f"{run}-{self.serial - n}" for n in range(count, 0, -1)]

    def wait_for_room(self, queue: str) -> bool:
        """Returns False if nothing may be sent now."""
        if self.traffic.stopped_sending.is_set() or self.traffic.backlog(queue) > _LARGEST_BACKLOG:
            self.traffic.stopped.wait(0.05)
            return False
        return True

    def unanswered(self, error: NoAnswerError) -> None:
        """Counts it and pauses, as clients do. A service that cannot work answers 503 and says when to try again."""
        self.traffic.count(f"no answer {error.status or 'connection lost'}")
        if error.status is not None and (error.status != 503 or not error.retry_after):
            self.traffic.errors.append(f"status {error.status}, Retry-After: {error.retry_after}")
        self.traffic.stopped.wait(0.1)

    def call(self, kind: str, action: str, queue: str, **request: Any) -> Any:
        answer = self.connection.sqs(action, QueueUrl=_URL + queue, **request)
        self.traffic.answered(kind, self.connection.begun)
        return answer

    @contextmanager
    def may_receive(self, queue: str) -> Iterator[None]:
        """Makes a call that may hand out messages of the queue. Without an answer, the messages are not known.

        This is not only a receive: a send receives for waiting long polls in its own transaction (`direct_handoff`). If
        that answer is lost, the sender learns it, and the long poll continues and is answered normally.
        """
        begun = time.time()
        try:
            yield
        except NoAnswerError:
            if queue in self.traffic.ledgers:
                self.traffic.ledgers[queue].unanswered_receive(begun)
            raise

    def receive(self, queue: str, seconds: int) -> list[dict[str, Any]]:
        options = {"MaxNumberOfMessages": 10, "WaitTimeSeconds": 1, "MessageAttributeNames": ["All"]}
        with self.may_receive(queue):
            answer = self.call("receive", "ReceiveMessage", queue, **options)
        messages: list[dict[str, Any]] = answer.get("Messages", [])
        bodies, ids = ([message[name] for message in messages] for name in ("Body", "MessageId"))
        if queue != "ticks":
            self.traffic.ledgers[queue].delivered(bodies, self.connection.begun, seconds, ids)
        return messages

    def delete(self, queue: str, messages: list[dict[str, Any]]) -> None:
        """Deletes in one call, repeated until it is answered. FIFO queues refuse handles whose timeout is over."""
        if not messages:
            return
        ledger, bodies = self.traffic.ledgers[queue], [message["Body"] for message in messages]
        ledger.deleting(bodies)
        if queue == "standard" and "undo deletes" in self.traffic.lies:
            ledger.deleted(bodies)
            return
        entries = [
            {"Id": str(n), "ReceiptHandle": message["ReceiptHandle"]} for n, message in enumerate(messages)
        ]
        answer = None
        while answer is None and not self.traffic.stopped.is_set():
            try:
                answer = self.call("delete", "DeleteMessageBatch", queue, Entries=entries)
            except NoAnswerError as error:
                self.unanswered(error)
        if answer is None:
            return
        gone = [bodies[int(entry["Id"])] for entry in answer.get("Successful", [])]
        ledger.deleted(gone)
        self.traffic.count(f"{queue} deleted", len(gone))
        kept = [bodies[int(entry["Id"])] for entry in answer.get("Failed", [])]
        ledger.kept(kept)
        if kept and not queue.endswith(".fifo"):
            self.traffic.errors.append(f"a delete was refused: {answer['Failed'][0]}")


def produce(actor: Actor) -> None:
    """Sends a batch of up to ten messages once. Without an answer its outcome stays unknown."""
    if not actor.wait_for_room("standard"):
        return
    bodies = actor.bodies(actor.random.randint(1, 10))
    _send_batch(actor, "standard", bodies)


def produce_poison(actor: Actor) -> None:
    if actor.wait_for_room("poison"):
        _send_batch(actor, "poison", actor.bodies(2))
        actor.traffic.stopped_sending.wait(0.2)


def produce_mapped(actor: Actor) -> None:
    """Sends batches that each have a message that the target never handles."""
    if actor.wait_for_room("mapped"):
        bodies = actor.bodies(10)
        _send_batch(actor, "mapped", [*bodies[1:], f"{NEVER}{bodies[0]}"])
        actor.traffic.stopped_sending.wait(0.05)


def _send_batch(actor: Actor, queue: str, bodies: list[str]) -> None:
    ledger = actor.traffic.ledgers[queue]
    ledger.sending(bodies)
    entries = [{"Id": str(n), "MessageBody": body} for n, body in enumerate(bodies)]
    with actor.may_receive(queue):
        answer = actor.call("send", "SendMessageBatch", queue, Entries=entries)
    sent = [bodies[int(entry["Id"])] for entry in answer.get("Successful", [])]
    ledger.sent(sent, [None] * len(sent))
    actor.traffic.count(f"{queue} sent", len(sent))


def produce_fifo(actor: Actor) -> None:
    """Sends a batch into one group of this actor, repeated until it is acknowledged."""
    queue = "fifo.fifo"
    if not actor.wait_for_room(queue):
        return
    ledger, bodies = actor.traffic.ledgers[queue], actor.bodies(actor.random.randint(1, 10))
    group = f"{actor.number}-{actor.random.randrange(8)}"
    ledger.sending(bodies, group)
    entries = [
        {"Id": str(n), "MessageBody": body, "MessageGroupId": group, "MessageDeduplicationId": body}
        for n, body in enumerate(bodies)
    ]
    answer = None
    while answer is None and not actor.traffic.stopped.is_set():
        try:
            answer = actor.call("send", "SendMessageBatch", queue, Entries=entries)
        except NoAnswerError as error:
            actor.unanswered(error)
    if answer is not None:
        numbers = {int(entry["Id"]): int(entry["SequenceNumber"]) for entry in answer.get("Successful", [])}
        ledger.sent([bodies[n] for n in numbers], list(numbers.values()))
        actor.traffic.count(f"{queue} sent", len(numbers))


def consume(actor: Actor) -> None:
    """Deletes most of the messages that it receives, some with the handle of an earlier receive."""
    messages = actor.receive("standard", VISIBILITY_SECONDS)
    chosen = []
    for message in messages:
        older = actor.older.pop(message["Body"], None)
        if older is not None:
            actor.traffic.count("deleted with an older handle")
            chosen.append({**message, "ReceiptHandle": older})
        elif actor.random.random() < 0.01 and not actor.traffic.stopped_sending.is_set():
            actor.older[message["Body"]] = message["ReceiptHandle"]
        else:
            chosen.append(message)
    actor.delete("standard", chosen)


def consume_fifo(actor: Actor) -> None:
    if "pause" in actor.traffic.lies:
        actor.traffic.stopped.wait(0.1)
        return
    messages = actor.receive("fifo.fifo", VISIBILITY_SECONDS)
    if actor.random.random() < 0.01:
        return
    actor.delete("fifo.fifo", messages)


def consume_poison(actor: Actor) -> None:
    actor.receive("poison", 1)


def consume_dead_letters(actor: Actor) -> None:
    """Deletes the moved messages from the dead-letter queue and counts them in the ledger of the source queue."""
    answer = actor.call("receive", "ReceiveMessage", "dead", MaxNumberOfMessages=10, WaitTimeSeconds=1)
    for message in answer.get("Messages", []):
        actor.traffic.ledgers["poison"].moved([message["Body"]])
        actor.call("delete", "DeleteMessage", "dead", ReceiptHandle=message["ReceiptHandle"])
        actor.traffic.count("poison deleted")


def consume_given_up(actor: Actor) -> None:
    """Consumes messages that the target of the mapping did not handle, and messages that services received and did not
    pass on in time."""
    answer = actor.call("receive", "ReceiveMessage", "mapped-dead", MaxNumberOfMessages=10, WaitTimeSeconds=1)
    for message in answer.get("Messages", []):
        actor.traffic.target.note(message["Body"])
        actor.call("delete", "DeleteMessage", "mapped-dead", ReceiptHandle=message["ReceiptHandle"])


def publish(actor: Actor) -> None:
    """Publishes once. Without an answer the publication reached all of its targets, or none."""
    if not actor.wait_for_room("events-a"):
        return
    (body,) = actor.bodies(1)
    targets = [actor.traffic.ledgers[name] for name in ("events-a", "events-b", "webhooks")]
    for ledger in targets:
        ledger.sending([f'"{body}"'])
    actor.connection.request("POST", "/v1/events/chaos.event", {"message": body})
    actor.traffic.answered("publish", actor.connection.begun)
    for ledger in targets:
        ledger.sent([f'"{body}"'], [None])
    actor.traffic.count("events-a sent")
    actor.traffic.stopped_sending.wait(0.02)


def consume_events_a(actor: Actor) -> None:
    actor.delete("events-a", actor.receive("events-a", VISIBILITY_SECONDS))


def consume_events_b(actor: Actor) -> None:
    actor.delete("events-b", actor.receive("events-b", VISIBILITY_SECONDS))


def consume_ticks(actor: Actor) -> None:
    """Notes each message before it deletes the message."""
    for message in actor.receive("ticks", VISIBILITY_SECONDS):
        fired = message["MessageAttributes"]["_schedule"]["StringValue"]
        with actor.traffic._lock:
            actor.traffic.ticks.setdefault(fired, set()).add(message["MessageId"])
        actor.traffic.answered("tick", scheduled_for(fired))
        try:
            actor.call("delete", "DeleteMessage", "ticks", ReceiptHandle=message["ReceiptHandle"])
        except RefusedError as error:
            actor.traffic.errors.append(f"a tick was not deleted: {error}")
