"""Tests the summaries of durations in windows without Spark: exact percentiles, sketches, and days from partial
results."""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, cast
from zoneinfo import ZoneInfo

import numpy as np
import psycopg
import pyarrow as pa
import pytest

from penstock_metrics import continuous
from penstock_metrics.continuous import ATTEMPTS, LostError, is_lost, run_with_retries
from penstock_metrics.database.runs import describe_reason
from penstock_metrics.run import RequestedSpan
from penstock_metrics.span import HOUR, DaySpan
from penstock_metrics.transforms.durations import MEASURED, PARTED, build_summarizer
from penstock_metrics.transforms.pieces import WANTED, find_candidates, merge_pieces
from penstock_metrics.transforms.sketch import BELOW_ALL, GAMMA, PERCENTILES, find_bucket
from tests.support.jobs.reference import BASE, at

DAY = 24 * HOUR
SPAN = DaySpan((BASE, BASE + DAY, BASE + 2 * DAY), BASE + 2 * DAY)
Measured = tuple[int, str, int, int, int]  # queue_id, group_id, measure, at_us, us
Row = dict[str, Any]


def batches(rows: Iterable[Measured], part: int = 0, size: int = 10_000) -> Iterator[pa.RecordBatch]:
    made = [{**dict(zip(MEASURED.names, row, strict=True)), "part": part} for row in rows]
    return iter(pa.Table.from_pylist(made, PARTED).to_batches(size))


def summaries(rows: Iterable[Measured], few: int = 100) -> list[pa.RecordBatch]:
    return list(build_summarizer(SPAN, few)(batches(rows)))


def windows(found: Iterable[pa.RecordBatch], seconds: int) -> list[Row]:
    """Returns the windows sorted by queue, group, measure and time."""
    rows = [row for batch in found for row in batch.to_pylist() if row["window_seconds"] == seconds]
    return sorted(rows, key=lambda row: (row["queue_id"], row["group_id"], row["measure"], row["starts_us"]))


def nearest_rank(values: Sequence[int], percent: int) -> int:
    """Returns percentile_disc, the first value whose rank is at least this share of all values."""
    return sorted(values)[math.ceil(percent * len(values) / 100) - 1]


def check(row: Row, values: Sequence[int]) -> None:
    """Checks every column of the row for the given durations."""
    total = row["seconds"] * 1_000_000 + row["rest_us"]
    assert (row["count"], total, row["max_us"]) == (len(values), sum(values), max(values))
    ranks = [nearest_rank(values, percent) for percent in PERCENTILES]
    assert [row[f"p{percent}_us"] for percent in PERCENTILES] == ranks
    check_sketch(row, values)


def check_sketch(row: Row, values: Sequence[int]) -> None:
    """Checks DDSketch's definition for each value: gamma^(i-1) < value <= gamma^i."""
    assert row["sketch_buckets"] == sorted(set(row["sketch_buckets"]))
    assert sum(row["sketch_counts"]) == len(values)
    for bucket, count in zip(row["sketch_buckets"], row["sketch_counts"], strict=True):
        low, high = (-1.0, 0.0) if bucket == BELOW_ALL else (GAMMA ** (bucket - 1), GAMMA**bucket)
        assert count == sum(low < value <= high for value in values)


def test_a_bucket_is_within_two_percent() -> None:
    """The value 2 g^i / (g + 1) of bucket i differs by at most 2 % from every value in the bucket."""
    values = np.unique(np.round(1.07 ** np.arange(400)).astype(np.int64))
    middles = 2 * GAMMA ** find_bucket(values).astype(np.float64) / (GAMMA + 1)
    assert np.all(np.abs(middles - values) <= 0.02 * values * (1 + 1e-9))


CHANCE = random.Random(11)


@pytest.mark.parametrize(
    "values",
    [
        [77],
        [5] * 40,
        [1, 1_000_000],
        list(range(100_000, 100_100)),
        [CHANCE.randrange(1, 10**9) for _ in range(3000)],
        [CHANCE.randrange(1_000_000, 1_010_000) for _ in range(1000)],
        [0, 0, 3],
    ],
    ids=["one", "equal", "two", "near", "wide", "narrow", "zero"],
)
def test_windows_of_every_length(values: list[int]) -> None:
    """The values lie in one minute, and therefore in one hour and one day."""
    found = summaries([(1, "", 0, at(61), us) for us in values], few=len(values))
    for seconds, starts, ends in ((60, at(61), at(62)), (3600, at(60), at(120)), (86400, BASE, BASE + DAY)):
        (row,) = windows(found, seconds)
        assert (row["starts_us"], row["ends_us"]) == (starts, ends)
        check(row, values)


def test_queues_groups_measures_and_minutes_are_kept_apart() -> None:
    rows = [
        (queue, group, measure, at(minute), 1 + queue * 1000 + measure * 100 + minute)
        for queue in (7, 3)
        for group in ("b", "a", "")
        for measure in (2, 0)
        for minute in (0, 1)
    ]
    found = windows(summaries(rows), 60)
    keys = [(row["queue_id"], row["group_id"], row["measure"], row["starts_us"]) for row in found]
    assert keys == sorted({(q, g, m, a) for q, g, m, a, _ in rows})
    for row in found:
        check(row, [us for q, g, m, a, us in rows if matches(row, q, g, m, a)])


def matches(row: Row, queue: int, group: str, measure: int, at_us: int) -> bool:
    """Returns whether a duration belongs to the row of its group, or to the row of the whole queue."""
    same = (row["queue_id"], row["measure"]) == (queue, measure)
    return same and row["group_id"] in ("", group) and row["starts_us"] <= at_us < row["ends_us"]


def test_durations_outside_the_span_are_left_out() -> None:
    """The span ends in the future, but no window begins in the future."""
    early, late, later = BASE - 1, BASE + DAY, BASE + 30 * HOUR
    span = DaySpan(SPAN.days, late)
    mixed = batches([(1, "", 0, moment, 5) for moment in (early, late, later)])
    found = list(build_summarizer(span)(mixed))
    assert [(row["window_seconds"], row["starts_us"]) for b in found for row in b.to_pylist()] == [
        (60, late),
        (3600, late),
        (86400, late),
    ]


def test_negative_durations_count_as_nothing_and_are_counted() -> None:
    for row in (w for seconds in (60, 3600, 86400) for w in windows(summaries(negative()), seconds)):
        check(row, [0, 0, 10, 20])
        assert row["negative_count"] == 2


def negative() -> list[Measured]:
    return [(1, "", 1, at(0), us) for us in (-7, -1, 10, 20)]


def test_no_messages_have_no_durations() -> None:
    assert summaries([]) == []
    assert list(merge_pieces(SPAN)(iter([]))) == []
    assert list(find_candidates(SPAN, wanted_table([(86400, 1, "", 0, BASE, 3)]))(iter([]))) == []


@pytest.mark.parametrize("few", [1000, 40, 0], ids=["few", "some", "many"])
def test_days_from_their_pieces(few: int) -> None:
    """The test has two groups with two days each, and three partial results for each day. With many
    values, the rank keeps its position within its bucket."""
    rows = random_rows(400)
    found = [batch for part in range(3) for batch in summaries(rows[part::3], few)]
    pieces = (batch for batch in found if batch["window_seconds"][0].as_py() == 86400)
    days = windows(merge_pieces(SPAN)(pieces), 86400)
    assert [(row["group_id"], row["starts_us"]) for row in days] == [
        (group, start) for group in ("", "g") for start in SPAN.days[:2]
    ]
    for row in days:
        check_merged(row, rows)
    assert [row["rank_buckets"] is not None for row in days] == [few < 66] * 2 + [few < 33] * 2


@pytest.mark.parametrize("few", [1000, 0], ids=["few", "many"])
@pytest.mark.parametrize("by", ["parts", "chunks"])
def test_hours_that_no_process_holds(few: int, by: str) -> None:
    """The values come from three partitions, or from one partition in chunks of 50, so minutes and hours have partial
    results as days have.
    """
    rows = random_rows(400, HOUR)
    if by == "parts":
        spread = [build_summarizer(SPAN, few)(batches(rows[n::3], n + 1)) for n in range(3)]
    else:
        spread = [build_summarizer(SPAN, few, 50)(batches(rows, size=50))]
    found = [batch for part in spread for batch in part]
    assert not any(row["whole"] for batch in found for row in batch.to_pylist())
    merged_rows = list(merge_pieces(SPAN)(iter(found)))
    hours = windows(merged_rows, 3600)
    minutes = windows(merged_rows, 60)
    assert [(row["group_id"], row["count"]) for row in hours] == [
        (group, sum(group in ("", g) for _, g, *_ in rows)) for group in ("", "g")
    ]
    assert sum(row["count"] for row in minutes if row["group_id"] == "") == 400
    for row in (*hours, *minutes):
        check_merged(row, rows)


def random_rows(number: int, within: int = 2 * DAY) -> list[Measured]:
    chance = random.Random(5)
    return [
        (1, chance.choice(["", "g"]), 0, BASE + chance.randrange(within), chance.randrange(-5, 10**6))
        for _ in range(number)
    ]


def check_merged(row: Row, rows: list[Measured]) -> None:
    """Computes the percentiles that the partial results of a window lack, and checks all columns of the window."""
    inside = [measured for measured in rows if matches(row, *measured[:4])]
    looked_up(row, rows)
    assert row["negative_count"] == sum(us < 0 for *_, us in inside)
    check(row, [max(us, 0) for *_, us in inside])


def looked_up(row: Row, rows: list[Measured]) -> None:
    """Adds the percentiles of the wanted buckets to a row with too many durations."""
    if row["rank_buckets"] is None:
        return
    key = tuple(row[name] for name in WANTED.names[:-1])
    wanted = wanted_table([(*key, bucket) for bucket in set(row["rank_buckets"])])
    values: dict[int, list[int]] = {}
    for part in range(2):
        for batch in find_candidates(SPAN, wanted, 50)(batches(rows[part::2], size=50)):
            for found in batch.to_pylist():
                assert tuple(found[name] for name in WANTED.names[:-1]) == key
                values.setdefault(found["bucket"], []).extend([found["us"]] * found["number"])
    ranks = zip(PERCENTILES, row["rank_buckets"], row["rank_places"], strict=True)
    row |= {f"p{percent}_us": sorted(values[bucket])[place - 1] for percent, bucket, place in ranks}


def wanted_table(rows: Iterable[tuple[Any, ...]]) -> pa.Table:
    return pa.Table.from_pylist([dict(zip(WANTED.names, row, strict=True)) for row in rows], WANTED)


# --- attempts --------------------------------------------------------------------------------------------------------
# Tests which errors lead to a retry of a run, and how many retries follow. Also tests the mode that repeats the run in
# each interval.


LOST = psycopg.errors.IdleInTransactionSessionTimeout("terminating connection due to idle-in-transaction timeout")


def failing(*errors: Exception) -> Callable[[], str]:
    """Returns a run that raises the given errors one after the other and then succeeds."""
    left = list(errors)

    def run() -> str:
        if left:
            raise left.pop(0)
        return "done"

    return run


def test_a_lost_connection_is_tried_again() -> None:
    said: list[str] = []
    waited: list[float] = []
    assert run_with_retries(failing(LOST, psycopg.OperationalError("gone")), said.append, waited.append) == "done"
    assert waited == [5.0, 30.0]
    assert [text.partition(";")[0] for text in said] == [str(LOST), "gone"]


def test_the_last_attempt_ends_with_one_line() -> None:
    with pytest.raises(LostError, match="idle-in-transaction"):
        run_with_retries(failing(*[LOST] * ATTEMPTS), lambda _: None, lambda _: None)


def test_other_errors_are_not_repeated() -> None:
    with pytest.raises(psycopg.errors.UndefinedTable):
        run_with_retries(failing(psycopg.errors.UndefinedTable("none")), lambda _: None, lambda _: None)


@pytest.mark.parametrize(
    ("error", "lost"),
    [
        (LOST, True),
        (psycopg.errors.AdminShutdown("terminating connection"), True),
        (RuntimeError("psycopg.OperationalError: server closed the connection unexpectedly"), True),
        (RuntimeError("adbc: could not import the requested snapshot"), True),
        (psycopg.errors.InsufficientPrivilege("permission denied for table history"), False),
        (ValueError("no such day"), False),
    ],
)
def test_only_errors_of_the_connection_count_as_lost(error: Exception, lost: bool) -> None:
    assert is_lost(error) is lost


def test_a_stop_is_a_reason_also_behind_the_error_that_it_caused() -> None:
    broken = RuntimeError("the call of Spark broke off")
    broken.__context__ = KeyboardInterrupt()
    assert describe_reason(broken) == "interrupted"
    assert describe_reason(RuntimeError("x")) == "x"


@dataclass
class DoneRun:
    run_id: int
    rows_read: int = 3
    rows_written: int = 4


def test_the_given_span_is_computed_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each later run computes the new windows, waits for the rest of the interval, and can fail."""
    asked: list[tuple[object, str]] = []
    waits: list[float] = []
    texts: list[str] = []

    def compute(database: Any, requested: RequestedSpan, mode: str, report: object) -> DoneRun:
        asked.append((requested, mode))
        if len(asked) == 3:
            raise ConnectionError
        return DoneRun(len(asked))

    monkeypatch.setattr(continuous, "compute", compute)
    day = datetime(2026, 3, 29, tzinfo=UTC)
    requested = RequestedSpan(ZoneInfo("UTC"), day)
    with pytest.raises(ConnectionError):
        continuous.follow(cast("Any", None), requested, 60, texts.append, waits.append)
    assert asked == [(requested, "continuous"), *[(RequestedSpan(ZoneInfo("UTC")), "continuous")] * 2]
    assert texts == [f"run {n}: messages read: 3; rows changed: 4" for n in (1, 2)]
    assert all(0 < wait <= 60 for wait in waits)
