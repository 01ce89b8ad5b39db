"""Tests queue.parse_schedule, next_fires and preview_schedule against tables of edge cases and
penstock.scheduler.expressions.

The plpgsql and Python implementations were written independently, so each is the other's reference.
"""

from datetime import UTC, datetime, timedelta

import psycopg
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from penstock.scheduler.expressions.expression import Expression, ScheduleInvalid, list_occurrences, parse, parse_aws
from tests.support.schedules.reference_minutes import (
    AWS_DAYS,
    CALENDAR,
    CLOCKS,
    RATES,
    ZONES,
    crons,
    days,
    fields,
    instants,
    texts,
    years,
)
from tests.support.sql.calls import Connection, value

pytestmark = pytest.mark.shared

TOGETHER = settings(deadline=None, max_examples=100, suppress_health_check=[HealthCheck.function_scoped_fixture])


def utc(text: str) -> datetime:
    return datetime.fromisoformat(text).replace(tzinfo=UTC)


def next_fires(
    db: Connection, canonical: str, zone: str, after: datetime, count: int, anchor: datetime | None = None
) -> list[datetime]:
    query = b"select f from queue.next_fires(%s, %s, %s, %s, %s) f"
    rows = db.execute(query, (canonical, zone, after, count, anchor)).fetchall()
    return [row[0].astimezone(UTC) for row in rows]


def canonical(db: Connection, form: str, expression: str, zone: str = "UTC") -> str:
    return str(value(db, "select queue.parse_schedule(%s, %s, %s)", form, expression, zone))


def check(db: Connection, expression: str, zone: str, after: str, expected: list[str], anchor: str | None) -> None:
    found = next_fires(db, expression, zone, utc(after), max(2, len(expected)), utc(anchor) if anchor else None)
    assert [f"{instant:%Y-%m-%d %H:%M:%S}" for instant in found] == expected


# --- the tables of edges ---------------------------------------------------------------------------------------------
def test_changes_of_the_clock(db: Connection) -> None:
    for cron, zone, after, expected in CLOCKS:
        check(db, cron, zone, after, expected, None)


def test_edges_of_the_calendar(db: Connection) -> None:
    for expression, after, expected in [*CALENDAR, *AWS_DAYS]:
        form = "aws" if expression.startswith("cron(") else "cron"
        check(db, canonical(db, form, expression), "UTC", after, expected, None)


def test_sql_computes_the_next_times_of_a_rate(db: Connection) -> None:
    for expression, after, anchor, expected in RATES:
        check(db, canonical(db, "aws", expression), "America/New_York", after, expected, anchor)


# --- the two implementations -----------------------------------------------------------------------------------------
@given(crons, instants, st.sampled_from(ZONES))
@TOGETHER
def test_cron_as_in_python(db: Connection, cron: str, after: datetime, zone: str) -> None:
    expression = parse(cron=cron, timezone=zone)
    assert canonical(db, "cron", cron, "UTC") == expression.canonical
    assert next_fires(db, cron, zone, after, 3) == list_occurrences(expression, after, 3)


@given(fields(0, 59), instants, st.sampled_from(ZONES))
@TOGETHER
def test_seconds_as_in_python(db: Connection, seconds: str, after: datetime, zone: str) -> None:
    expression = parse(cron=f"{seconds} 58-59,0-1 * * * *", timezone=zone)
    assert next_fires(db, expression.canonical, zone, after, 4) == list_occurrences(expression, after, 4)


@given(days, fields(1, 12), years, instants, st.sampled_from(ZONES))
@TOGETHER
def test_days_of_aws_as_in_python(
    db: Connection, day: tuple[str, str], month: str, year: str, after: datetime, zone: str
) -> None:
    text = f"cron(30 2 {day[0]} {month} {day[1]} {year})"
    expression = parse_aws(text, zone)
    assert canonical(db, "aws", text) == expression.canonical
    assert next_fires(db, text, zone, after, 3) == list_occurrences(expression, after, 3)


@given(st.integers(1, 10_000), st.sampled_from(["minute", "hours", "days"]), instants, instants)
@TOGETHER
def test_rates_as_in_python(db: Connection, number: int, unit: str, after: datetime, anchor: datetime) -> None:
    expression = parse_aws(f"rate({number} {unit})")
    assert canonical(db, "aws", expression.written) == expression.canonical
    found = next_fires(db, expression.canonical, "UTC", after, 3, anchor)
    assert found == list_occurrences(expression, after, 3, anchor)


@given(instants, st.sampled_from(ZONES), st.sampled_from(["", "Z", "+05:30", "-11:00"]))
@settings(TOGETHER, max_examples=15)  # PostgreSQL needs 40 ms to look up a time zone.
def test_moments_as_in_python(db: Connection, instant: datetime, zone: str, offset: str) -> None:
    text = f"{instant:%Y-%m-%dT%H:%M:%S}"
    for form, written in (("fire_at", text + offset), ("aws", f"at({text})")):
        expression = outcome(form, written, zone)
        if isinstance(expression, ScheduleInvalid):
            with pytest.raises(psycopg.Error, match="does not exist"):
                canonical(db, form, written, zone)
        else:
            assert canonical(db, form, written, zone) == expression.canonical
            after = instant - timedelta(days=2)
            assert next_fires(db, expression.canonical, zone, after, 2) == list_occurrences(expression, after, 2)


def outcome(form: str, text: str, zone: str = "UTC") -> Expression | ScheduleInvalid:
    try:
        return parse_aws(text, zone) if form == "aws" else parse(**{form: text}, timezone=zone)
    except ScheduleInvalid as error:
        return error


sendable = texts.filter(lambda text: "\0" not in text and text.isprintable())
EVERY = st.from_regex(r"0{0,2}[0-9]{1,3}[smhd]?", fullmatch=True)
RATE = st.from_regex(r"rate\( ?0?[0-9]{1,11} {1,2}(minute|hour|day|week)s? ?\)", fullmatch=True)
PIECES = "* 5 0 7 */2 1-5 5-1 MON SUN sat-sun ? L LW 15W L-3 6L 6#2 1,L 2030 59/15 mon/2 8"
CRON = st.lists(st.sampled_from(PIECES.split()), min_size=5, max_size=6).map(" ".join)
FORMS = st.tuples(st.sampled_from(["cron", "every", "fire_at", "aws"]), sendable) | st.one_of(
    EVERY.map(lambda text: ("every", text)),
    RATE.map(lambda text: ("aws", text)),
    CRON.map(lambda text: ("cron", text)),
    CRON.map(lambda text: ("aws", f"cron({text})")),
)


@given(FORMS)
@settings(TOGETHER, max_examples=300)
def test_sql_refuses_the_expressions_that_python_refuses(db: Connection, written: tuple[str, str]) -> None:
    form, text = written
    expected = outcome(form, text)
    if isinstance(expected, Expression):
        assert canonical(db, form, text) == expected.canonical
    else:
        with pytest.raises(psycopg.Error) as refused:
            canonical(db, form, text)
        assert refused.value.sqlstate == "QU003", (form, text)


# --- the interface of applications -----------------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("argument", "text", "expected"),
    [
        ("cron", "0 9 * * mon-fri", "0 9 * * MON-FRI"),
        ("every", "6h", "0 */6 * * *"),
        ("fire_at", "2199-01-01T00:00:00+01:00", "2198-12-31T23:00:00Z"),
        ("expression", "rate(5 minutes)", "rate(5 minutes)"),
        ("expression", "cron(0 12 * * ? *)", "cron(0 12 * * ? *)"),
        ("expression", "at(2199-01-01T00:00:00)", "at(2199-01-01T00:00:00)"),
    ],
)
def test_a_preview_lists_the_next_times(db: Connection, argument: str, text: str, expected: str) -> None:
    zone = "America/New_York"
    query = f"select canonical, next_fires, clock_timestamp() from queue.preview_schedule({argument} => %s,"
    row = db.execute(f"{query} timezone => %s, count => 3)".encode(), (text, zone)).fetchone()
    assert row is not None
    found = [instant.astimezone(UTC) for instant in row[1]]
    assert row[0] == expected
    assert found == next_fires(db, expected, zone, found[0] - timedelta(seconds=1), len(found), found[0])
    assert found[0] > row[2]


def test_a_preview_of_what_never_comes_is_empty(db: Connection) -> None:
    query = b"select canonical, next_fires from queue.preview_schedule(cron => '0 0 30 2 *')"
    assert db.execute(query).fetchone() == ("0 0 30 2 *", [])


@pytest.mark.parametrize(
    "zone", ["America", "america/new_york", "UTC+3", "PST", "right/Europe/Berlin", "", "Europe/Berlim"]
)
def test_time_zones_of_the_iana_database_only(db: Connection, zone: str) -> None:
    """PostgreSQL itself accepts most of the time zone names that Penstock refuses."""
    with pytest.raises(psycopg.Error, match="not a time zone") as refused:
        canonical(db, "cron", "* * * * *", zone)
    assert refused.value.sqlstate == "QU003"


@pytest.mark.parametrize(
    "query",
    [
        "queue.preview_schedule()",
        "queue.preview_schedule(cron => '* * * * *', every => '5m')",
        "queue.preview_schedule(cron => '* * * * *', count => 1001)",
        "queue.preview_schedule(cron => '* * * * *', count => -1)",
        "queue.parse_schedule('when', 'every day')",
        "queue.parse_schedule('rate', 'at(2030-01-01T00:00:00)')",
        "queue.next_fires('0 9 * *')",
    ],
)
def test_an_invalid_expression_is_refused(db: Connection, query: str) -> None:
    with pytest.raises(psycopg.Error) as refused:
        db.execute(f"select * from {query}".encode())
    assert refused.value.sqlstate == "QU003"
