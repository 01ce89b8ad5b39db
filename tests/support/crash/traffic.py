"""Producers and consumers that keep going while the service and its database are killed, and note all they see."""

from __future__ import annotations

import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from tests.support.crash.sqs_connection import NoAnswerError, RefusedError, SqsConnection
from tests.support.ledger import Ledger

# How long a message stays away whose receive was never answered: the end of each run waits for it.
VISIBILITY_SECONDS = 3
_BATCH = 5
# More than are in flight; few enough to be drained in a moment.
_LARGEST_BACKLOG = 1000
_LONGEST_SECONDS = 60
_COUNTS = [f"ApproximateNumberOfMessages{which}" for which in ("", "NotVisible", "Delayed")]


class AbortedError(Exception):
    """The test has failed elsewhere: nobody need go on."""


@dataclass
class Traffic:
    """What the actors share. `tally` counts: sent, deleted (both acknowledged), and calls without an answer."""

    port: int
    fifo: bool
    ledger: Ledger = field(default_factory=Ledger)
    tally: Counter[str] = field(default_factory=Counter)
    errors: list[str] = field(default_factory=list)
    url: str = ""
    stopped_sending: threading.Event = field(default_factory=threading.Event)
    aborted: threading.Event = field(default_factory=threading.Event)
    # Set while the service is meant to answer: nobody knocks at a closed door in a tight circle.
    open: threading.Event = field(default_factory=threading.Event)
    _changed: threading.Condition = field(default_factory=threading.Condition)

    def create_queue(self) -> None:
        """Before the actors start."""
        attributes = {"VisibilityTimeout": str(VISIBILITY_SECONDS)}
        if self.fifo:
            attributes["FifoQueue"] = "true"
        name = "crash.fifo" if self.fifo else "crash"
        with self.wire() as wire:
            self.url = wire.call("CreateQueue", QueueName=name, Attributes=attributes)["QueueUrl"]
        self.open.set()

    @contextmanager
    def wire(self) -> Iterator[SqsConnection]:
        wire = SqsConnection(self.port)
        try:
            yield wire
        finally:
            wire.close()

    def count(self, what: str, number: int = 1) -> None:
        with self._changed:
            self.tally[what] += number
            self._changed.notify_all()

    def wait_for(self, condition: Callable[[Counter[str]], bool]) -> None:
        """Returns when the tally meets the condition; fails when it does not in a minute, or an actor failed."""
        with self._changed:
            came = self._changed.wait_for(lambda: condition(self.tally) or self.errors, _LONGEST_SECONDS)
        assert came, f"no progress: {self.tally}"
        assert not self.errors, self.errors

    def unanswered(self, call: str, error: NoAnswerError) -> None:
        """Count it, and go on when the service is meant to answer again."""
        self.count(f"{call} without answer ({error.status or 'connection lost'})")
        self.open.wait(_LONGEST_SECONDS)
        if self.aborted.is_set():
            raise AbortedError

    @contextmanager
    def actors(self, producers: int, consumers: int) -> Iterator[None]:
        """Runs them. At the end of the block the producers stop, and the consumers empty the queue."""
        run: list[tuple[Callable[[Traffic, int], None], int]] = [(produce, n) for n in range(producers)]
        run += [(consume, n) for n in range(consumers)]
        threads = [threading.Thread(target=self._guarded, args=each) for each in run]
        for thread in threads:
            thread.start()
        try:
            yield
        except BaseException:
            self.aborted.set()
            raise
        finally:
            self.stopped_sending.set()
            self.open.set()
            for thread in threads:
                thread.join()

    def _guarded(self, actor: Callable[[Traffic, int], None], number: int) -> None:
        try:
            actor(self, number)
        except AbortedError:
            return
        except Exception as error:  # noqa: BLE001 - every error is a finding
            self.errors.append(f"{actor.__name__}: {error!r}")
            self.stopped_sending.set()
            self.count("failed actors")


def produce(traffic: Traffic, number: int) -> None:
    """Sends until told to stop, a little faster than can be consumed but never far ahead."""
    send = _send_fifo if traffic.fifo else _send_batch
    serial = 0
    with traffic.wire() as wire:
        while not traffic.stopped_sending.is_set():
            bodies = [f"{number}-{serial + n}" for n in range(_BATCH)]
            serial += _BATCH
            send(traffic, wire, number, bodies)
            traffic.wait_for(lambda tally: tally["sent"] - tally["deleted"] < _LARGEST_BACKLOG)


def _send_batch(traffic: Traffic, wire: SqsConnection, number: int, bodies: list[str]) -> None:
    """One batch, never repeated: without an answer its outcome stays unknown."""
    traffic.ledger.sending(bodies)
    entries = [{"Id": str(n), "MessageBody": body} for n, body in enumerate(bodies)]
    try:
        answer = wire.call("SendMessageBatch", QueueUrl=traffic.url, Entries=entries)
    except NoAnswerError as error:
        traffic.unanswered("send", error)
        return
    sent = [bodies[int(entry["Id"])] for entry in answer["Successful"]]
    traffic.ledger.sent(sent, [None] * len(sent))
    traffic.count("sent", len(sent))


def _send_fifo(traffic: Traffic, wire: SqsConnection, number: int, bodies: list[str]) -> None:
    """One after the other into a group of the producer's own; each is repeated until it is acknowledged."""
    group = f"group-{number}"
    for body in bodies:
        traffic.ledger.sending([body], group)
        ids = {"MessageGroupId": group, "MessageDeduplicationId": body}
        answer = None
        while answer is None:
            try:
                answer = wire.call("SendMessage", QueueUrl=traffic.url, MessageBody=body, **ids)
            except NoAnswerError as error:
                traffic.unanswered("send", error)
        traffic.ledger.sent([body], [int(answer["SequenceNumber"])])
        traffic.count("sent")


def consume(traffic: Traffic, number: int) -> None:
    """Receives and deletes until nothing is sent any more and the queue is empty."""
    with traffic.wire() as wire:
        while True:
            try:
                messages, begun = _receive(traffic, wire)
                if not messages and traffic.stopped_sending.is_set() and _is_empty(traffic, wire):
                    return
            except NoAnswerError as error:
                traffic.unanswered("receive", error)
                continue
            for message in messages:
                _delete(traffic, wire, message, begun)


def _receive(traffic: Traffic, wire: SqsConnection) -> tuple[list[dict[str, Any]], float]:
    begun = time.time()
    options = {"MaxNumberOfMessages": 10, "WaitTimeSeconds": 1}
    messages = wire.call("ReceiveMessage", QueueUrl=traffic.url, **options).get("Messages", [])
    traffic.ledger.delivered([message["Body"] for message in messages], begun, VISIBILITY_SECONDS)
    return messages, begun


def _delete(traffic: Traffic, wire: SqsConnection, message: dict[str, Any], begun: float) -> None:
    """Deletes one message, repeating the call until it is answered.

    An acknowledgement later than the visibility timeout proves nothing: the message may have been received again, and
    then an old handle deletes nothing (API reference of DeleteMessage). FIFO queues refuse such a handle.
    """
    body = message["Body"]
    traffic.ledger.deleting([body])
    while True:
        try:
            wire.call("DeleteMessage", QueueUrl=traffic.url, ReceiptHandle=message["ReceiptHandle"])
        except NoAnswerError as error:
            traffic.unanswered("delete", error)
        except RefusedError as error:
            assert "expired" in str(error), error  # noqa: PT017 - says why it may be refused
            assert time.time() > begun + VISIBILITY_SECONDS, error  # noqa: PT017
            traffic.ledger.kept([body])
            traffic.count("deleted too late")
            return
        else:
            break
    if time.time() < begun + VISIBILITY_SECONDS:
        traffic.ledger.deleted([body])
        traffic.count("deleted")
    else:
        traffic.count("deleted too late")


def _is_empty(traffic: Traffic, wire: SqsConnection) -> bool:
    """No message waits, is in flight or delayed."""
    answer = wire.call("GetQueueAttributes", QueueUrl=traffic.url, AttributeNames=_COUNTS)
    return all(answer["Attributes"][name] == "0" for name in _COUNTS)
