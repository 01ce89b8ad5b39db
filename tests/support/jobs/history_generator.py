"""Writes histories in Penstock's form, at millions of rows a minute.

`write` makes random messages with every outcome. The same seed always gives the same history. `write_steady` makes a
history whose metrics follow from arithmetic. Both functions write queue.history in its stored format: each row contains
messages that were received together.
"""

from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta
from typing import Any
from zoneinfo import ZoneInfo

import psycopg

Connection = psycopg.Connection[Any]
# The maximum number of messages in one row, which is also the maximum of one receive.
TOGETHER = 10


@dataclass(frozen=True, slots=True)
class Span:
    """Represents a span of whole days in a time zone. A day has 23 to 25 hours."""

    first_day: date
    days: int = 1
    timezone: str = "UTC"

    def _midnight(self, day: date) -> datetime:
        return datetime.combine(day, time(), ZoneInfo(self.timezone)).astimezone(UTC)

    @property
    def from_at(self) -> datetime:
        return self._midnight(self.first_day)

    @property
    def to_at(self) -> datetime:
        return self._midnight(self.first_day + timedelta(self.days))


@dataclass(frozen=True, slots=True)
class Mixture:
    """Defines the size of a random history. Of every three queues, one queue is FIFO, one standard queue has groups,
    and one standard queue has no groups.
    """

    messages: int
    queues: int = 9
    groups: int = 200
    seed: int = 1


def chance(row: str, purpose: int) -> str:
    """Returns SQL for a number in [0, 1), which depends only on the row, its purpose and the seed, but not on the query
    plan.
    """
    return f"((hashint8extended({row}, {purpose} + 1000003 * %(seed)s) & 4294967295) / 4294967296.0::float8)"


# Each row has a random start (more by day than by night), a random wait and processing time (with a long tail), and a
# random outcome. Of 100 rows, 8 are redelivered, 3 are dead-lettered, 3 are purged, 2 expire before a receive, and 1 is
# moved. One row has times from a late clock (received or deleted before sent). Three rows reach the history up to three
# hours late. Six rows came from another queue, with messages sent up to three days before. Seven of ten redelivered
# messages have three known times.
_ROWS = f"""
with dice as (
    select r, {chance("r", 1)} as fate, {chance("r", 2)} as again, {chance("r", 3)} as late,
        floor(%(queues)s * power({chance("r", 4)}, 1.5))::int as queue,
        %(from_at)s + (%(to_at)s::timestamptz - %(from_at)s::timestamptz)
            * ({chance("r", 5)} + 0.04 * sin(12.566 * {chance("r", 5)})) as starts_at,
        exp(8 + 9 * {chance("r", 6)}) * interval '1 microsecond' as wait,
        exp(9 + 8 * power({chance("r", 7)}, 2)) * interval '1 microsecond' as work
    from generate_series(%(first)s::bigint, %(last)s::bigint) r),
drawn as (
    select d.*, case when d.fate < 0.03 then 'purged' when d.fate < 0.05 then 'expired'
            when d.fate < 0.08 then 'dead_lettered' when d.fate < 0.09 then 'moved' else 'deleted' end as outcome,
        case when d.fate between 0.09 and 0.10 then -1 else 1 end as clock,
        case when d.fate < 0.05 then 0 when d.again < 0.08 then 2 + floor(d.again * 50)::int else 1 end as receives
    from dice d),
message as (
    select w.r, w.queue, w.outcome, w.receives, w.late, w.starts_at + w.wait * w.clock as received_at,
        {chance("w.r", 9)} as origin, case when {chance("w.r", 10)} < 0.7 and w.receives > 1 then array(
            select w.starts_at + (w.wait + w.work * w.receives * k) * w.clock
            from generate_series(1, least(w.receives - 1, 3)) k) end as redelivered_at,
        'g' || floor(%(groups)s * power({chance("w.r * 16 + i", 8)}, 3))::int as group_id,
        case when w.queue %% 3 = 1 then 'g' || floor(%(groups)s * power(w.again, 2))::int end as fifo_group_id,
        w.starts_at - i * interval '1700 microseconds' as entered_at,
        w.starts_at + (w.wait + w.work * (w.receives * w.receives + i * 0.01)) * w.clock as finished_at
    from drawn w cross join generate_series(1, {TOGETHER}) i)
insert into queue.history (recorded_at, first_received_at, queue_id, receive_count, outcome, group_id, group_ids,
    redelivered_at, entered_by, entered_at, sent_at, finished_at)
select max(m.finished_at) + case when max(m.late) < 0.03 then max(m.late) * interval '100 hours'
        else max(m.late) * interval '2 seconds' end,
    case when max(m.receives) > 0 then max(m.received_at) end, (%(ids)s::int[])[max(m.queue) + 1], max(m.receives),
    max(m.outcome), max(m.fifo_group_id),
    case when max(m.queue) %% 3 = 2 then array_agg(m.group_id) end, max(m.redelivered_at),
    case when max(m.origin) < 0.06 then 'dead_lettered' end,
    case when max(m.origin) < 0.06 then array_agg(m.entered_at) end,
    array_agg(case when m.origin < 0.06 then m.entered_at - m.origin * interval '50 days' else m.entered_at end),
    array_agg(m.finished_at)
from message m group by m.r"""

_STEADY = """
insert into queue.history (recorded_at, first_received_at, queue_id, receive_count, outcome, sent_at, finished_at)
select t + interval '2 seconds', t + n * interval '1 millisecond', %(queue)s, 1, 'deleted', array[t],
    array[t + n * interval '1 millisecond' + interval '1 second']
from generate_series(%(from_at)s::timestamptz, %(to_at)s::timestamptz - interval '1 second', interval '1 minute') t,
    generate_series(1, %(rate)s) n"""

# Of ten messages that were received together, each message waits a millisecond longer than the previous message. Waits
# and processing times have long tails.
_BUSY = f"""
with drawn as (
    select r, %(from_at)s::timestamptz + (r - 1) * interval '1 hour' / %(rows)s as sent_at,
        exp(8 + 6 * {chance("r", 1)}) * interval '1 microsecond' as wait,
        exp(9 + 6 * {chance("r", 2)}) * interval '1 microsecond' as work
    from generate_series(%(first)s::bigint, %(last)s::bigint) r)
insert into queue.history (recorded_at, first_received_at, queue_id, receive_count, outcome, group_ids, sent_at,
    finished_at)
select d.sent_at + d.wait + d.work + interval '2 seconds', d.sent_at + d.wait, %(queue)s, 1, 'deleted', m.group_ids,
    m.sent_at, m.finished_at
from drawn d
cross join lateral (
    select case when %(groups)s > 0 then array_agg('g' || (d.r * 7 + i) %% greatest(%(groups)s, 1)) end as group_ids,
        array_agg(d.sent_at - i * interval '1 millisecond') as sent_at,
        array_agg(d.sent_at + d.wait + d.work * (1 + i * 0.01)) as finished_at
    from generate_series(1, {TOGETHER}) i) m"""


def create_queues(connection: Connection, number: int) -> list[int]:
    """Creates queues metrics-0, metrics-1, … and returns their ids. The second of every three queues is FIFO."""
    ids = []
    for i in range(number):
        name, suffix = f"metrics-{i}", ".fifo" if i % 3 == 1 else ""
        connection.execute(f"select queue.create{'_fifo' if suffix else ''}(%s)".encode(), (name + suffix,))
        row = connection.execute("select queue_id from queue.queues where name = %s", (name + suffix,)).fetchone()
        assert row is not None
        ids.append(int(row[0]))
    return ids


def create_partitions(connection: Connection, span: Span) -> None:
    """Creates the daily partitions (UTC) for the rows of a span, including late rows."""
    day, last = span.from_at.date() - timedelta(1), span.to_at.date() + timedelta(1)
    while day <= last:
        connection.execute("select queue.add_history_day('history', %s)", (day,))
        day += timedelta(1)


def write(connection: Connection, span: Span, mixture: Mixture, part_rows: int = 100_000) -> list[int]:
    """Writes a random history in transactions of `part_rows` rows if the connection is in autocommit mode.

    Returns the ids of its queues. Some messages end, and some rows are stored, after the span.
    """
    ids = create_queues(connection, mixture.queues)
    create_partitions(connection, span)
    rows = mixture.messages // TOGETHER
    for first in range(1, rows + 1, part_rows):
        parameters = {
            "queues": mixture.queues, "groups": mixture.groups, "ids": ids, "from_at": span.from_at,
            "to_at": span.to_at, "first": first, "last": min(first + part_rows - 1, rows),
            "seed": mixture.seed,
        }  # fmt: skip
        connection.execute(_ROWS.encode(), parameters)
    connection.execute("analyze queue.history")
    return ids


def write_steady(connection: Connection, span: Span, rate: int) -> int:
    """Writes `rate` messages for each minute. All messages of a minute have the same send time. The nth message is
    received after n ms and deleted one second later.

    Returns the queue's id. Each window has `rate` arrivals a minute, and the queue is empty at the window's end. For n
    messages a minute, the percentile p of the wait is ceil(p n / 100) ms in windows of every length. The percentile of
    the lag is one second longer.
    """
    (queue_id,) = create_queues(connection, 1)
    create_partitions(connection, span)
    parameters = {"queue": queue_id, "from_at": span.from_at, "to_at": span.to_at, "rate": rate}
    connection.execute(_STEADY.encode(), parameters)
    return queue_id


def write_busy_hour(
    connection: Connection, span: Span, messages: int, groups: int = 0, part_rows: int = 100_000
) -> int:
    """Writes one queue whose messages are all sent evenly in the first hour of the span. Returns its id."""
    (queue_id,) = create_queues(connection, 1)
    create_partitions(connection, span)
    rows = messages // TOGETHER
    for first in range(1, rows + 1, part_rows):
        parameters = {
            "queue": queue_id, "groups": groups, "from_at": span.from_at, "rows": rows, "first": first,
            "last": min(first + part_rows - 1, rows), "seed": 1,
        }  # fmt: skip
        connection.execute(_BUSY.encode(), parameters)
    connection.execute("set lock_timeout = 0")  # Autovacuum may be working on the table.
    connection.execute("analyze queue.history")
    return queue_id
