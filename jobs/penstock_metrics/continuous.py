"""A run again whenever messages were recorded, and each interval: structured streaming over the history.

A batch names the times that changed; the job computes their windows as a single run does. So both modes agree by
construction, and a batch that is repeated after a crash changes nothing. The only state is the position in the history,
which queue.metrics_run holds as well: a new process goes on where the last one, of either mode, ended.
"""

from __future__ import annotations

import json
import tempfile
from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any, Final

from pyspark.errors import StreamingQueryException
from pyspark.sql import DataFrame
from pyspark.sql import functions as F
from pyspark.sql.streaming.query import StreamingQuery

from .database import runs
from .database.address import open_connection
from .database.read import Database
from .database.stream import NAME, ChangesSource, Offset
from .run import RequestedDays, compute
from .span import moment

QUERY_STARTS: Final = 5
WORKER_START_FAILED: Final = "Python worker failed to connect back"


def follow(
    database: Database, requested: RequestedDays, interval_seconds: float, report: Callable[[str], None]
) -> None:
    """Computes until the query is stopped or fails. Raises the query's error."""
    with tempfile.TemporaryDirectory(prefix="penstock-metrics-") as checkpoint:
        trigger = {"processingTime": f"{interval_seconds} seconds"}
        run_to_end(lambda: start(database, requested, checkpoint, trigger, report))


def run_to_end(start_query: Callable[[], StreamingQuery]) -> None:
    """Waits for the end of a query. Raises the query's error.

    Spark gives the Python process of a streaming source ten seconds to start, which no setting changes. On an
    overloaded machine that may be too short, so the query is started up to five times.
    """
    for attempt in range(1, QUERY_STARTS + 1):
        query = start_query()
        try:
            query.awaitTermination()
        except StreamingQueryException as error:
            if WORKER_START_FAILED not in str(error) or attempt == QUERY_STARTS:
                raise
        else:
            return
        finally:
            query.stop()


def start(
    database: Database,
    requested: RequestedDays,
    checkpoint: str,
    trigger: dict[str, Any],
    report: Callable[[str], None],
) -> StreamingQuery:
    """Starts the query. Its first batch computes `requested`, or everything since the last run."""
    begin, first = starting_offset(database.address), [requested]

    def batch(changes: DataFrame, number: int) -> None:
        todo = first.pop() if first else replace(requested, start=since_of(changes, database.address))
        run = compute(database, todo, "continuous", report)
        report(
            f"batch {number}, run {run.run_id}: {run.rows_read:,} messages, {run.rows_written:,} rows written"
        )

    database.session.dataSource.register(ChangesSource)
    options = {"url": database.address, "start": json.dumps(begin)}
    rows = database.session.readStream.format(NAME).options(**options).load()
    writer = rows.writeStream.foreachBatch(batch).option("checkpointLocation", checkpoint)
    return writer.trigger(**trigger).start()


def starting_offset(address: str) -> Offset:
    """The offset at which the last run ended; the beginning of the history when there is none."""
    with open_connection(address) as connection:
        last = runs.last_run(connection)
    if last is None:
        return {"below": 0, "at": datetime(1970, 1, 3, tzinfo=UTC).isoformat()}
    return {"below": last.below, "at": last.at.isoformat()}


def since_of(changes: DataFrame, address: str) -> datetime | None:
    """The first time that the changes concern, less the margin of a run; None: all since the last run."""
    first = changes.agg(F.min(F.unix_micros("changed_at"))).collect()[0][0]
    if first is None:
        return None
    with open_connection(address) as connection:
        last = runs.last_run(connection)
    changed = moment(first)
    return changed if last is None else min(changed, last.at - runs.MARGIN)
