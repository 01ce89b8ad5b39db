"""Runs producers and consumers, which continue during all faults and note every event in ledgers.

standard   The actors send batches, delete most messages (some with an earlier receipt handle), and leave the rest.
fifo       The actors send batches, and retry with the same deduplication ids until the service acknowledges them.
poison     The actors never delete. Each message moves to the dead-letter queue after two receives.
mapped     A mapping posts batches to a target. Messages that the target never handles become dead letters.
events     Each publication reaches two queues and a webhook, or no target.
bus        The actors publish batches on an event bus, and retry with the same deduplication ids until the service
           acknowledges them. A subscriber delivers the events to a queue, and a FIFO subscriber to another one.
ticks      A schedule fires every second.
"""

from __future__ import annotations

import random
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, Final

from tests.support.chaos.traffic import (
    NEVER,
    QUEUE_URL,
    VISIBILITY_SECONDS,
    Connection,
    NoResponseError,
    RefusedError,
    Traffic,
    scheduled_for,
)

_LARGEST_BACKLOG: Final = 2000


@contextmanager
def run_actors(traffic: Traffic) -> Iterator[None]:
    """Runs all actors until the end of the block."""
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
        *[publish_on_bus] * 2,
        *[consume_bus] * 2,
        consume_bus_in_order,
        consume_ticks,
    ]
    threads = [
        threading.Thread(target=_act, args=(traffic, work, number), daemon=True) for number, work in enumerate(run)
    ]
    for thread in threads:
        thread.start()
    try:
        yield
    finally:
        traffic.stopped_sending.set()
        traffic.stopped.set()
        for thread in threads:
            thread.join()


def _act(traffic: Traffic, work: Callable[[Actor], None], number: int) -> None:
    actor = Actor(traffic, number, work.__name__)
    try:
        while not traffic.stopped.is_set():
            try:
                work(actor)
            except NoResponseError as error:
                actor.unanswered(error)
    except Exception as error:  # noqa: BLE001 - every error is a finding
        traffic.errors.append(f"{work.__name__}: {error!r}")
    finally:
        actor.connection.close()


class Actor:
    def __init__(self, traffic: Traffic, number: int, name: str) -> None:
        self.traffic = traffic
        self.name = name
        self.random = random.Random(f"{traffic.seed} {number}")
        self.connection = Connection(traffic.ports, number)
        self.number = number
        self.serial = 0
        self.older: dict[str, str] = {}

    def bodies(self, count: int) -> list[str]:
        """Returns bodies that differ from all others, including bodies in earlier runs. The database remembers
        deduplication ids for five minutes.
        """
        self.serial += count
        run = f"{self.traffic.seed:x}-{self.number}"
        return [f"{run}-{self.serial - n}" for n in range(count, 0, -1)]

    def wait_for_room(self, queue: str) -> bool:
        """Returns whether the actor may send. Waits briefly if the actor may not send."""
        if self.traffic.stopped_sending.is_set() or self.traffic.backlog(queue) > _LARGEST_BACKLOG:
            self.traffic.stopped.wait(0.05)
            return False
        return True

    def unanswered(self, error: NoResponseError) -> None:
        """Counts the error and pauses. A service that cannot work must respond with status 503 and Retry-After."""
        self.traffic.count(f"no response {error.status or 'connection lost'}")
        if error.status is not None and (error.status != 503 or not error.retry_after):
            self.traffic.errors.append(f"status {error.status}, Retry-After: {error.retry_after}")
        self.traffic.stopped.wait(0.1)

    def call(self, kind: str, action: str, queue: str, **request: Any) -> Any:
        response = self.connection.sqs(action, QueueUrl=QUEUE_URL + queue, **request)
        self.traffic.answered(kind, self.connection.begun)
        return response

    @contextmanager
    def may_receive(self, queue: str) -> Iterator[None]:
        """Makes a call that can receive the queue's messages. If the response is lost, the received messages are
        unknown.

        A send can also receive messages, because its transaction receives messages for waiting long polls
        (`direct_handoff`). If the response is lost, the sender receives an error, but the long poll continues normally.
        """
        begun = time.time()
        try:
            yield
        except NoResponseError:
            if queue in self.traffic.ledgers:
                self.traffic.ledgers[queue].unanswered_receive(begun)
            raise

    def receive(self, queue: str, seconds: int) -> list[dict[str, Any]]:
        options = {"MaxNumberOfMessages": 10, "WaitTimeSeconds": 1, "MessageAttributeNames": ["All"]}
        with self.may_receive(queue):
            response = self.call("receive", "ReceiveMessage", queue, **options)
        messages: list[dict[str, Any]] = response.get("Messages", [])
        bodies, ids = ([message[name] for message in messages] for name in ("Body", "MessageId"))
        if queue != "ticks":
            self.traffic.ledgers[queue].delivered(bodies, self.connection.begun, seconds, ids)
        return messages

    def delete(self, queue: str, messages: list[dict[str, Any]]) -> None:
        """Deletes messages in one batch, and retries until the service responds. A FIFO queue refuses a handle after
        its visibility timeout.
        """
        if not messages:
            return
        ledger, bodies = self.traffic.ledgers[queue], [message["Body"] for message in messages]
        ledger.deleting(bodies)
        if queue == "standard" and "undo deletes" in self.traffic.lies:
            ledger.deleted(bodies)
            return
        entries = [{"Id": str(n), "ReceiptHandle": message["ReceiptHandle"]} for n, message in enumerate(messages)]
        response = None
        while response is None and not self.traffic.stopped.is_set():
            try:
                response = self.call("delete", "DeleteMessageBatch", queue, Entries=entries)
            except NoResponseError as error:
                self.unanswered(error)
        if response is None:
            return
        gone = [bodies[int(entry["Id"])] for entry in response.get("Successful", [])]
        ledger.deleted(gone)
        self.traffic.count(f"{queue} deleted", len(gone))
        kept = [bodies[int(entry["Id"])] for entry in response.get("Failed", [])]
        ledger.kept(kept)
        if kept and not queue.endswith(".fifo"):
            self.traffic.errors.append(f"a delete was refused: {response['Failed'][0]}")


def produce(actor: Actor) -> None:
    """Sends a batch of up to ten messages without retries. If the response is lost, the batch's outcome is unknown."""
    if not actor.wait_for_room("standard"):
        return
    bodies = actor.bodies(actor.random.randint(1, 10))
    _send_batch(actor, "standard", bodies)


def produce_poison(actor: Actor) -> None:
    if actor.wait_for_room("poison"):
        _send_batch(actor, "poison", actor.bodies(2))
        actor.traffic.stopped_sending.wait(0.2)


def produce_mapped(actor: Actor) -> None:
    """Sends batches that each include a message that the target always fails."""
    if actor.wait_for_room("mapped"):
        bodies = actor.bodies(10)
        _send_batch(actor, "mapped", [*bodies[1:], f"{NEVER}{bodies[0]}"])
        actor.traffic.stopped_sending.wait(0.05)


def _send_batch(actor: Actor, queue: str, bodies: list[str]) -> None:
    ledger = actor.traffic.ledgers[queue]
    ledger.sending(bodies)
    entries = [{"Id": str(n), "MessageBody": body} for n, body in enumerate(bodies)]
    with actor.may_receive(queue):
        response = actor.call("send", "SendMessageBatch", queue, Entries=entries)
    sent = [bodies[int(entry["Id"])] for entry in response.get("Successful", [])]
    ledger.sent(sent, [None] * len(sent))
    actor.traffic.count(f"{queue} sent", len(sent))


def produce_fifo(actor: Actor) -> None:
    """Sends a batch to one of the actor's groups, and retries until the service acknowledges the batch."""
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
    response = None
    while response is None and not actor.traffic.stopped.is_set():
        try:
            response = actor.call("send", "SendMessageBatch", queue, Entries=entries)
        except NoResponseError as error:
            actor.unanswered(error)
    if response is not None:
        numbers = {int(entry["Id"]): int(entry["SequenceNumber"]) for entry in response.get("Successful", [])}
        ledger.sent([bodies[n] for n in numbers], list(numbers.values()))
        actor.traffic.count(f"{queue} sent", len(numbers))


def consume(actor: Actor) -> None:
    """Receives messages and deletes most of them. Deletes some of the messages with an earlier receipt handle."""
    messages = actor.receive("standard", VISIBILITY_SECONDS)
    share = 1 if "keep messages" in actor.traffic.lies else 0.01
    chosen = []
    for message in messages:
        older = actor.older.pop(message["Body"], None)
        if older is not None:
            actor.traffic.count("deleted with an older handle")
            chosen.append({**message, "ReceiptHandle": older})
        elif actor.random.random() < share and not actor.traffic.stopped_sending.is_set():
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
    """Deletes messages from the dead-letter queue and counts them in the source queue's ledger."""
    response = actor.call("receive", "ReceiveMessage", "dead", MaxNumberOfMessages=10, WaitTimeSeconds=1)
    for message in response.get("Messages", []):
        actor.traffic.ledgers["poison"].moved([message["Body"]])
        actor.call("delete", "DeleteMessage", "dead", ReceiptHandle=message["ReceiptHandle"])
        actor.traffic.count("poison deleted")


def consume_given_up(actor: Actor) -> None:
    """Consumes dead letters of the mapping: messages that the target did not handle, and messages that a service
    received but did not deliver in time.
    """
    response = actor.call("receive", "ReceiveMessage", "mapped-dead", MaxNumberOfMessages=10, WaitTimeSeconds=1)
    for message in response.get("Messages", []):
        actor.traffic.target.note(message["Body"])
        actor.call("delete", "DeleteMessage", "mapped-dead", ReceiptHandle=message["ReceiptHandle"])


def publish(actor: Actor) -> None:
    """Publishes without retries. If the response is lost, the publication has reached all of its targets or none of
    them.
    """
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


def publish_on_bus(actor: Actor) -> None:
    """Publishes a batch in one of the actor's groups, and retries until the service acknowledges the batch."""
    if not (actor.wait_for_room("bus") and actor.wait_for_room("bus.fifo")):
        return
    ledgers = [actor.traffic.ledgers[name] for name in ("bus", "bus.fifo")]
    bodies = [f'"{body}"' for body in actor.bodies(actor.random.randint(1, 10))]
    group = f"{actor.number}-{actor.random.randrange(4)}"
    ledgers[0].sending(bodies)
    ledgers[1].sending(bodies, group)
    entries = [
        {
            "Data": body.encode(),
            "SystemMetadata": {
                "ContentType": "application/json",
                "EventGroupId": group,
                "DeduplicationId": body,
            },
        }
        for body in bodies
    ]
    response = None
    while response is None and not actor.traffic.stopped.is_set():
        try:
            response = actor.connection.events("PutRawEvents", EventBusArn=actor.traffic.bus, Entries=entries)
        except NoResponseError as error:
            actor.unanswered(error)
    if response is not None:
        for name, ledger in zip(("bus", "bus.fifo"), ledgers, strict=True):
            ledger.sent(bodies, [int(entry["SequenceNumber"]) for entry in response["Entries"]])
            actor.traffic.count(f"{name} sent", len(bodies))
    actor.traffic.stopped_sending.wait(0.1)


def consume_bus(actor: Actor) -> None:
    actor.delete("bus", actor.receive("bus", VISIBILITY_SECONDS))


def consume_bus_in_order(actor: Actor) -> None:
    actor.delete("bus.fifo", actor.receive("bus.fifo", VISIBILITY_SECONDS))


def consume_ticks(actor: Actor) -> None:
    for message in actor.receive("ticks", VISIBILITY_SECONDS):
        fired = message["MessageAttributes"]["_schedule"]["StringValue"]
        with actor.traffic._lock:
            actor.traffic.ticks.setdefault(fired, set()).add(message["MessageId"])
        actor.traffic.answered("tick", scheduled_for(fired))
        try:
            actor.call("delete", "DeleteMessage", "ticks", ReceiptHandle=message["ReceiptHandle"])
        except RefusedError as error:
            actor.traffic.errors.append(f"a tick was not deleted: {error}")
