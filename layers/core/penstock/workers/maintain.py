"""Cleans the database.

Removes acknowledged and expired messages, deleted queues, and old rows. Old rows are deduplication ids, history, runs
of schedules, outgoing messages, and windows of metrics. The worker also finds accounts with too many deliveries,
updates statistics if autovacuum is late, and truncates empty tables whose files still take space.

All processes and functions share one round through the queues. Each process takes the next few queues, and no two
processes take the same queue. The next round begins QUEUE_MAINTAIN_INTERVAL_MS after the end of the last round, in any
process. A run has a time limit, and the next run continues after the last queue.
"""

import logging
from time import monotonic
from typing import TYPE_CHECKING

from penstock.postgres.statement import Statement
from penstock.postgres.statements.installation import (
    CHECK_SERVER,
    CLEAN_METRICS,
    CLEAN_OUTGOING,
    CLEAN_SCHEDULE_RUNS,
    COUNT_CHANGES,
    FIND_DELIVERY_EXCESS,
    JUMP_IDS,
    MAINTAIN_INSTALLATION,
    MAINTAIN_QUEUE,
    NEXT_QUEUES,
    QUEUES_WITH_LEFTOVER_ROWS,
    RECLAIM_SPACE,
    REFRESH_STATISTICS,
    CountRow,
)
from penstock.settings import Settings

from . import Counts

if TYPE_CHECKING:
    from penstock.drivers import StatementExecutor

MAX_RUN_SECONDS = 1.5
# How often a process cleans tables that belong to no queue. While these tables have rows to remove, each round cleans
# them.
INSTALLATION_SECONDS = 10.0
# A run finishes the queues that it took. A call for a queue ends soon after a second. Most calls take 0.3 ms, and a
# clean queue needs no call. Therefore a run ends after about 20 s even if each queue has many rows to clean. A Lambda
# function must end within 60 s.
QUEUES_PER_PAGE = 20
ROWS_PER_TABLE = 10_000
# How often a process checks whether the database has moved to another server. A process also checks each new
# connection.
CHECK_SERVER_SECONDS = 30.0
QUEUES_PER_JUMP = 100
PARTS = ("expired_rows", "topics", "applications", "deleted_queues", "histories", "events", "deletions", "outcomes")
"""The parts of queue.maintain_installation."""
# The id for the tables that belong to no queue. This id comes first in a round.
INSTALLATION = 0
MAINTENANCE = "maintenance"
"""The name of the worker's work in queue.due_work, in place of a queue's ARN."""


_log = logging.getLogger(__name__)


class Maintainer:
    """The worker of one process. Only some rounds clean the tables that belong to no queue.

    `found_nothing` means that the last run had no rows to clean, in its queues and in the tables that belong to no
    queue. `idle` means that the last run ended a round in which this process cleaned no rows. When `idle` is true,
    queues may still contain messages. An idle worker has no work until a change, or until a message expires. `changes`
    is the result of queue.count_changes before the last run.
    """

    def __init__(self) -> None:
        self._installation_at = float("-inf")
        self._checked_at = float("-inf")
        self._connections = self._connections_checked = 0
        self._began_round = False
        self._cleaned = False
        self._failure: Exception | None = None
        self.found_nothing = False
        self.idle = False
        self.changes = 0

    def note_new_connection(self) -> None:
        """Marks the connection as new, so that the next run checks its server. Any thread can call this method."""
        self._connections += 1

    def run_once(self, settings: Settings, connection: "StatementExecutor") -> Counts:
        """Does one bounded run, in which each call is a transaction.

        If a cleaning call fails, the run still makes the other calls, and raises the first error at the end. Errors of
        other calls end the run at once, but earlier calls stay committed.
        """
        deadline = monotonic() + MAX_RUN_SECONDS
        options = ("maintain", QUEUES_PER_PAGE, settings.queue_maintain_interval_ms)
        counts = {"queues": 0, "messages": 0, "rows": 0, "analyzed": 0, "emptied": 0}
        self.found_nothing = True
        self.idle = False
        self._failure = None
        self._check_server(connection, deadline)
        # The call must not be the first call of a run, because the server counts earlier changes of this session during
        # the first call.
        self.changes = count_changed(connection, COUNT_CHANGES)
        while monotonic() < deadline:
            due = connection.call(NEXT_QUEUES, options)
            if not due:
                self._end_round(counts)
                break
            queue_ids = [row.queue_id for row in due]
            if INSTALLATION in queue_ids:
                self._maintain_installation(settings, connection, counts)
                queue_ids.remove(INSTALLATION)
            counts["queues"] += len(queue_ids)
            counts["messages"] += self._maintain_queues(connection, queue_ids)
        self._cleaned = self._cleaned or has_changed(counts)
        self.found_nothing = self.found_nothing and not counts["rows"]
        if self._failure is not None:
            self.idle = False
            raise self._failure
        return counts

    def _clean(self, connection: "StatementExecutor", statement: Statement[CountRow], *arguments: object) -> int:
        """Makes a call and returns the number of rows that it cleaned. If the call fails, stores the error and returns
        0."""
        try:
            return count_changed(connection, statement, *arguments)
        except Exception as error:  # noqa: BLE001 - raised at the end of the run
            self._failure = self._failure or error
            return 0

    def _end_round(self, counts: Counts) -> None:
        """Ends a round. Uses the round's result only if this process began the round. A round begins with the tables
        without queues."""
        self.idle = self._began_round and not self._cleaned and not has_changed(counts)
        self._began_round = False

    def _check_server(self, connection: "StatementExecutor", deadline: float) -> None:
        """After a failover or a restore, skips the ids that lost transactions may have used."""
        now, connections = monotonic(), self._connections
        if now >= self._checked_at + CHECK_SERVER_SECONDS or connections != self._connections_checked:
            (row,) = connection.call(CHECK_SERVER, (False,))
            if row.flag:
                _log.warning("the database moved to another server; skipping ahead in all id sequences")
            self._checked_at, self._connections_checked = now, connections
        while count_changed(connection, JUMP_IDS, QUEUES_PER_JUMP) and monotonic() < deadline:
            self.found_nothing = False

    def _maintain_installation(
        self, settings: Settings, connection: "StatementExecutor", counts: dict[str, int]
    ) -> None:
        counts["analyzed"] += self._clean(connection, REFRESH_STATISTICS)
        now = monotonic()
        self._began_round, self._cleaned = now >= self._installation_at, False
        if self._began_round:
            rows = self._clean_installation(settings, connection)
            counts["rows"] += rows
            counts["emptied"] += self._clean(connection, RECLAIM_SPACE)
            self._installation_at = now + (0 if rows else INSTALLATION_SECONDS)

    def _clean_installation(self, settings: Settings, connection: "StatementExecutor") -> int:
        outbox = (settings.sns_outbox_days, settings.quota_outbox, list(settings.carried_protocols))
        calls: list[tuple[Statement[CountRow], tuple[object, ...]]] = [
            *((MAINTAIN_INSTALLATION, (ROWS_PER_TABLE, settings.queue_history_days, part)) for part in PARTS),
            (FIND_DELIVERY_EXCESS, (settings.quota_deliveries,)),
            (CLEAN_OUTGOING, (ROWS_PER_TABLE, *outbox)),
            (CLEAN_SCHEDULE_RUNS, (ROWS_PER_TABLE, settings.queue_schedule_history_seconds)),
            (CLEAN_METRICS, (ROWS_PER_TABLE, settings.queue_metrics_days)),
        ]
        return sum(self._clean(connection, statement, *arguments) for statement, arguments in calls)

    def _maintain_queues(self, connection: "StatementExecutor", queue_ids: list[int]) -> int:
        leftover = connection.call(QUEUES_WITH_LEFTOVER_ROWS, (queue_ids,)) if queue_ids else []
        self.found_nothing = self.found_nothing and not leftover
        return sum(self._clean(connection, MAINTAIN_QUEUE, row.queue_id) for row in leftover)


def has_changed(counts: Counts) -> bool:
    """Returns whether a run cleaned any rows, according to its counts."""
    return any(count for what, count in counts.items() if what != "queues")


def run_once(settings: Settings, connection: "StatementExecutor") -> Counts:
    """Does one bounded run, for Lambda functions."""
    return Maintainer().run_once(settings, connection)


def count_changed(connection: "StatementExecutor", statement: Statement[CountRow], *arguments: object) -> int:
    """Returns the number that a maintenance function returns."""
    (row,) = connection.call(statement, arguments)
    return row.changed
