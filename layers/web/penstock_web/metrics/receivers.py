"""Records the receivers of each queue, and writes the records to the database every ten seconds."""

import asyncio
import logging
import re
from collections.abc import Awaitable, Callable
from datetime import UTC, datetime
from time import time
from typing import Final

import psycopg

from penstock.errors import AwsError
from penstock.observing.reports import ReceivedBy
from penstock.postgres.statement import Row
from penstock.postgres.statements.queues import NOTE_RECEIVERS

WRITE_SECONDS: Final = 10.0
EMPTY_WRITES: Final = 6
"""While no receiver receives messages, the process writes only at every sixth interval."""
MAX_RECEIVERS: Final = 10_000
"""Limits the receivers that a process records between two writes."""
MAX_AGENT_LENGTH: Final = 200

# In the User-Agent header, botocore lists used features as m/ and letters. The order of the letters differs between
# processes.
_FEATURES: Final = re.compile(r"(?<=\bm/)[\w,+-]+")

_log = logging.getLogger(__name__)

Write = Callable[..., Awaitable[list[Row]]]


class Noted:
    """Represents a receiver of a queue since the last write."""

    __slots__ = ("address", "agent", "caller", "last_at", "queue_arn", "received")

    def __init__(self, report: ReceivedBy) -> None:
        client = report.client
        self.queue_arn = report.queue_arn
        self.caller = client.caller_arn
        agent = shorten_agent(client.http.headers.get(b"user-agent", b""))
        self.agent = _FEATURES.sub(_sort_features, agent.decode("latin-1").replace("\0", ""))
        self.address = client.client_address.replace("\0", "")[:64]
        self.last_at = 0.0
        self.received = 0


def shorten_agent(agent: bytes) -> bytes:
    """Returns at most MAX_AGENT_LENGTH bytes of a User-Agent: its beginning, which names the SDK, and its end, which
    names the application.
    """
    half = MAX_AGENT_LENGTH // 2
    return agent if len(agent) <= MAX_AGENT_LENGTH else agent[: half - 3] + b" ... " + agent[-(half - 2) :]


class Receivers:
    """Collects the receivers of the process since the last write."""

    def __init__(self) -> None:
        self._noted: dict[tuple[object, ...], Noted] = {}

    def note(self, report: ReceivedBy, _seconds: float) -> None:
        """Records a receive. Clients with the same user, program and address count as one receiver."""
        http = report.client.http
        headers = http.headers
        key = (
            report.queue_arn,
            report.client.user,
            headers.get(b"user-agent"),
            headers.get(b"x-forwarded-for") or http.peer,
        )
        noted = self._noted.get(key)
        if noted is None:
            if len(self._noted) >= MAX_RECEIVERS:
                return
            noted = self._noted[key] = Noted(report)
        noted.last_at = time()
        noted.received += report.count

    async def keep(self, write: Write) -> None:
        """Until cancelled, writes the records every ten seconds, or every minute if no messages are received."""
        left = EMPTY_WRITES
        while True:
            await asyncio.sleep(WRITE_SECONDS)
            left -= 1
            if left == 0 or any(noted.received for noted in self._noted.values()):
                left = EMPTY_WRITES
                await self.flush(write)

    async def flush(self, write: Write) -> None:
        """Writes the records. Drops the records after an error, because a small loss is acceptable."""
        noted, self._noted = [*self._noted.values()], {}
        if not noted:
            return
        rows = (
            (
                note.queue_arn,
                note.caller,
                note.agent,
                note.address,
                datetime.fromtimestamp(note.last_at, UTC),
                note.received,
            )
            for note in noted
        )
        columns = zip(*rows, strict=True)
        try:
            await write(NOTE_RECEIVERS, [list(column) for column in columns])
        except (AwsError, psycopg.Error) as error:
            _log.debug("receivers were not noted", extra={"cause": str(error)})


def _sort_features(features: re.Match[str]) -> str:
    return ",".join(sorted(features[0].split(",")))
