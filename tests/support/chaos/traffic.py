"""Holds what the actors of a chaos run share: queues, ledgers, counts and errors. `actors` has the actors."""

import json
import threading
import time
from collections import Counter, deque
from dataclasses import dataclass, field
from datetime import datetime
from functools import partial
from typing import Final

from tests.support.chaos.connection import Connection, NoAnswerError
from tests.support.chaos.webhooks import Endpoint, Target
from tests.support.ledger import Ledger

VISIBILITY_SECONDS: Final = 5
QUEUE_URL: Final = "http://127.0.0.1/000000000000/"
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
        '"maxReceiveCount": 5}'
    },
    "events-a": {},
    "events-b": {},
    "ticks": {},
}
_COUNTS: Final = [f"ApproximateNumberOfMessages{which}" for which in ("", "NotVisible", "Delayed")]


@dataclass
class Traffic:
    """Holds what the actors share. `calls` maps each kind of call to the times when its last answered call began and
    ended.
    """

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
    """Lists the due times of occurrences that may fire again, because the database was rewound."""
    lies: set[str] = field(default_factory=set)
    """Lists the defects that actors imitate for a negative control without telling the ledgers."""
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

    def rewound(self, moment: float, cut: float) -> None:
        """Notes that the database went back to its state of `moment` at the time `cut`. Messages from the time
        between may be gone, or come again.
        """
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
        """Returns the end of the first call of this kind that began since then."""
        with self._lock:
            return min((ended for begun, ended in self.calls.get(kind, ()) if begun >= since), default=None)

    def backlog(self, queue: str) -> int:
        return self.tally[f"{queue} sent"] - self.tally[f"{queue} deleted"]

    def is_drained(self) -> bool:
        """Returns whether no queue holds a message and no webhook is under way. Returns False while the answer is
        unknown.

        The function reads a queue before its dead-letter queue. It therefore finds a message that moves in between.
        """
        connection = Connection(self.ports)
        try:
            for name in reversed(_QUEUES):
                if name == "ticks":
                    continue
                answer = connection.sqs(
                    "GetQueueAttributes", QueueUrl=QUEUE_URL + name, AttributeNames=_COUNTS
                )
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
