"""Drives the real service against the model, with real clients in either protocol and a clock that a test can move."""

import json
from dataclasses import dataclass, field
from itertools import count
from time import time
from typing import Any, NamedTuple

from botocore.exceptions import ClientError

from tests.support.conformance.database_clock import Clock
from tests.support.conformance.sqs import Refusal, Sqs, read_refusal

# Every duration in the model is a multiple of a minute, and time moves by minutes. Real time also passes, and less
# than a minute of it has no effect.
MINUTE = 60

_numbers = count(1)


class Stored(NamedTuple):
    """A message in the tables."""

    message_id: str
    body: str
    group: str | None
    attributes: frozenset[str]  # names alone


@dataclass
class ServiceUnderTest:
    """One deployment in both protocols for one caller. `offset` is the number of seconds by which the clock was moved
    so far.
    """

    json: Sqs
    query: Sqs
    clock: Clock
    offset: int = 0
    requests: int = 0
    began: float = field(default_factory=time)

    def begin(self) -> str:
        """Begins a new example. Returns a prefix for unused names."""
        self.began = time()
        return f"m{next(_numbers)}-"

    @property
    def is_too_slow(self) -> bool:
        """Returns whether the real time since `begin` may have ended a timeout of the example."""
        return time() - self.began > MINUTE

    def call(self, protocol: str, method: str, **parameters: Any) -> dict[str, Any] | Refusal:
        """Makes one request. Returns the call's result or refusal."""
        sqs = self.json if protocol == "json" else self.query
        self.requests += 1
        try:
            answer = dict(getattr(sqs.client, method)(**parameters))
        except ClientError:
            last = sqs.answer
            assert last.headers is not None
            return read_refusal(protocol, last.status, last.headers, last.body)
        del answer["ResponseMetadata"]
        return answer

    def advance(self, seconds: int) -> None:
        self.clock.advance(seconds)
        self.offset += seconds

    def moment(self, stamp: str) -> int:
        """Returns a time that the service gave in milliseconds, without the moves of the clock."""
        return int(stamp) + 1000 * self.offset

    def maintain(self, arn: str) -> None:
        """Does the worker's periodic work until no work is left."""
        query = "select queue.maintain_queue(q.queue_id) from queue.queues q where q.arn = %s"
        while (row := self.clock.connection.execute(query, [arn]).fetchone()) and row[0]:
            pass

    def forget(self) -> None:
        """Cleans the rest of deleted queues, which keeps the tables small for the next example."""
        self.clock.connection.execute("select queue.maintain_installation(1000000, 1)")

    def stored(self, arn: str) -> list[Stored]:
        """Returns the messages of a queue in the order of their ids. A further receive would move messages."""
        query = (
            "select m.message_id, m.body, m.group_id, m.attributes"
            " from unnest(array['visible', 'in_flight', 'delayed']) s(state),"
            " queue.peek_messages(%s, s.state, null, 100000) m order by m.public_id"
        )
        rows = self.clock.connection.execute(query, [arn]).fetchall()
        return [
            Stored(message_id, body, group, frozenset(json.loads(attributes or "{}")))
            for message_id, body, group, attributes in rows
        ]
