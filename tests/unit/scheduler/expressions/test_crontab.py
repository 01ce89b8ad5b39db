"""Tests the canonical forms of cron, every, when and fire_at, and the messages about invalid expressions.

The REST API ("Schedules") defines the forms, the examples and the near misses.
"""

from datetime import UTC, datetime

import pytest

from penstock.scheduler.expressions.expression import ScheduleInvalid, parse, read_stored
from penstock.scheduler.expressions.invalid import MAX_EXPRESSION_LENGTH


def refused(**form: str) -> ScheduleInvalid:
    with pytest.raises(ScheduleInvalid) as raised:
        parse(**form)
    return raised.value


@pytest.mark.parametrize(
    ("written", "canonical"),
    [
        ("*/5 * * * *", "*/5 * * * *"),
        ("*/30 * * * * *", "*/30 * * * * *"),
        ("  0   9 *  * mon-fri ", "0 9 * * MON-FRI"),
        ("0\t9 * * *", "0 9 * * *"),
        ("0 0 12 ? * fri", "0 0 12 * * FRI"),
        ("0 9 1,15 JAN,jul *", "0 9 1,15 JAN,JUL *"),
        ("0 9 l * *", "0 9 L * *"),
        ("0 9 * * fri#2", "0 9 * * FRI#2"),
    ],
)
def test_cron_has_a_canonical_form(written: str, canonical: str) -> None:
    parsed = parse(cron=written, timezone="Europe/Berlin")
    assert (parsed.form, parsed.written, parsed.canonical) == ("cron", written, canonical)
    assert parsed.timezone == "Europe/Berlin"
    assert not parsed.is_one_shot


@pytest.mark.parametrize(
    ("written", "canonical"),
    [
        ("30s", "*/30 * * * * *"),
        ("1s", "* * * * * *"),
        ("60s", "* * * * *"),
        ("1m", "* * * * *"),
        ("5m", "*/5 * * * *"),
        ("60m", "0 * * * *"),
        ("1h", "0 * * * *"),
        ("6h", "0 */6 * * *"),
        ("24h", "0 0 * * *"),
        ("1d", "0 0 * * *"),
    ],
)
def test_every_has_a_canonical_form(written: str, canonical: str) -> None:
    assert parse(every=written).canonical == canonical


@pytest.mark.parametrize(
    ("written", "canonical"),
    [
        ("every minute", "* * * * *"),
        ("every 30 seconds", "*/30 * * * * *"),
        ("every 5 minutes", "*/5 * * * *"),
        ("every 6 hours", "0 */6 * * *"),
        ("every 1 day", "0 0 * * *"),
        ("every hour", "0 * * * *"),
        ("every day", "0 0 * * *"),
        ("every day at 9am", "0 9 * * *"),
        ("every weekday at 9:30am", "30 9 * * 1-5"),
        ("every weekend at noon", "0 12 * * 0,6"),
        ("every monday at 21:00", "0 21 * * 1"),
        ("every sunday at midnight", "0 0 * * 0"),
        ("Every  Friday AT 5PM", "0 17 * * 5"),
        ("daily at 12am", "0 0 * * *"),
        ("daily at 12pm", "0 12 * * *"),
        ("daily at 12:30am", "30 0 * * *"),
        ("daily at 9", "0 9 * * *"),
        ("hourly", "0 * * * *"),
        ("hourly at :05", "5 * * * *"),
    ],
)
def test_when_has_a_canonical_form(written: str, canonical: str) -> None:
    assert parse(when=written).canonical == canonical


@pytest.mark.parametrize(
    ("written", "zone", "canonical"),
    [
        ("2026-01-02T03:04:05Z", "America/New_York", "2026-01-02T03:04:05Z"),
        ("2026-01-02t03:04:05z", "UTC", "2026-01-02T03:04:05Z"),
        ("2026-01-02T03:04:05.987654+05:30", "UTC", "2026-01-01T21:34:05Z"),
        ("2026-01-02 03:04-08:00", "UTC", "2026-01-02T11:04:00Z"),
        ("2026-01-02T03:04:05", "UTC", "2026-01-02T03:04:05Z"),
        ("2026-07-02T03:04:05", "America/New_York", "2026-07-02T07:04:05Z"),
        ("2026-11-01T01:30:00", "America/New_York", "2026-11-01T05:30:00Z"),
    ],
)
def test_fire_at(written: str, zone: str, canonical: str) -> None:
    parsed = parse(fire_at=written, timezone=zone)
    assert (parsed.canonical, parsed.is_one_shot) == (canonical, True)
    instant = datetime.fromisoformat(canonical)
    assert parsed.next_after(datetime(1990, 1, 1, tzinfo=UTC)) == instant
    assert parsed.next_after(instant) is None


@pytest.mark.parametrize(
    ("written", "position", "suggestion"),
    [
        ("0 9 *", 5, "0 9 * * *"),
        ("0 9 * * ", 7, "0 9 * * *"),
        ("", 0, None),
        ("0 9 * * * * *", 11, "0 9 * * * *"),
        ("@daily", 0, "0 0 * * *"),
        ("@reboot", 0, None),
        ("R * * * *", 0, None),
        ("H 9 * * *", 0, None),
        ("every 5 minutes", 0, None),
        ("cron(0 9 * * ? *)", 0, None),
        ("60 9 * * *", 0, "0 9 * * *"),
        ("0 24 * * *", 2, "0 0 * * *"),
        ("0 9am * * *", 2, None),
        ("0 9 0 * *", 4, "0 9 1 * *"),
        ("0 9 32 * *", 4, None),
        ("0 9 * 13 *", 6, None),
        ("0 9 * sept *", 6, "0 9 * SEP *"),
        ("0 9 * * monday", 8, "0 9 * * MON"),
        ("0 9 * * mon,tues", 12, "0 9 * * mon,TUE"),
        ("0 9 * * 8", 8, None),
        ("0 22-2 * * *", 2, "0 22-23,0-2 * * *"),
        ("0 9 * * fri-mon", 8, "0 9 * * 5-6,0-1"),
        ("*/0 * * * *", 2, "*/1 * * * *"),
        ("*/90 * * * *", 2, None),
        ("*/x * * * *", 2, None),
        ("*/5/5 * * * *", 4, None),
        ("1-2-3 * * * *", 4, None),
        ("0 9,, * * *", 4, None),
        ("0 9 * * 5#6", 10, None),
        ("0 9 * * 5#", 10, None),
        ("0 9 L-31 * *", 4, None),
        ("0 9 LWW * *", 4, None),
        ("0 9 * * L", 8, None),
        ("\u0665 9 * * *", 0, None),
        ("0 9\xa0* * *", 3, "0 9 * * *"),
        ("0 9 * * \u017fun", 8, None),
        ("0 9 * *\x1f*", 7, "0 9 * * *"),
    ],
)  # fmt: skip
def test_wrong_cron(written: str, position: int, suggestion: str | None) -> None:
    error = refused(cron=written)
    assert (error.position, error.suggestion) == (position, suggestion), error.message
    assert "0 9 * * MON-FRI" in error.examples


@pytest.mark.parametrize(
    ("written", "position", "suggestion"),
    [
        ("45m", 0, "30m"),
        ("90m", 0, "1h"),
        ("120m", 0, "2h"),
        ("7h", 0, "6h"),
        ("48h", 0, "1d"),
        ("2d", 0, "1d"),
        ("3600s", 0, "1h"),
        ("5 minutes", 1, "5m"),
        ("5min", 2, "5m"),
        ("5M", 1, "5m"),
        ("5", 1, "5m"),
        ("0m", 0, None),
        ("-5m", 0, None),
        ("1.5h", 1, None),
        ("1w", 1, None),
        ("m", 0, None),
        ("", 0, None),
    ],
)
def test_wrong_every(written: str, position: int, suggestion: str | None) -> None:
    error = refused(every=written)
    assert (error.position, error.suggestion) == (position, suggestion), error.message
    assert "5m" in error.examples


@pytest.mark.parametrize(
    ("written", "position", "suggestion"),
    [
        ("every weekdays at 9am", 6, "every weekday at 9am"),
        ("every weekday at 9 am", 17, "every weekday at 9am"),
        ("every weekdays at 9 am", 6, "every weekday at 9am"),
        ("weekdays at 9am", 0, "every weekday at 9am"),
        ("everyday at 9am", 0, "every day at 9am"),
        ("every mon at 9am", 6, "every monday at 9am"),
        ("every wensday at 9am", 6, "every wednesday at 9am"),
        ("every day 9am", 10, "every day at 9am"),
        ("every monday", 12, "every monday at 9am"),
        ("daily", 5, "daily at 9am"),
        ("daily at", 8, "daily at 9am"),
        ("daily at 0am", 9, "daily at 12am"),
        ("daily at 13pm", 9, "daily at 1pm"),
        ("daily at 13am", 9, None),
        ("daily at 24:00", 9, "daily at 0:00"),
        ("daily at 25", 9, None),
        ("daily at 9:5", 9, "daily at 9:05"),
        ("daily at 9:60", 9, None),
        ("daily at 9.30am", 9, "daily at 9:30am"),
        ("daily at teatime", 9, None),
        ("daily at 9am sharp", 13, "daily at 9am"),
        ("hourly at 15", 10, "hourly at :15"),
        ("hourly at :5", 10, "hourly at :05"),
        ("hourly at :60", 10, None),
        ("every", 5, "every day"),
        ("every 5", 7, "every 5 minutes"),
        ("every 5 min", 8, "every 5 minutes"),
        ("every 7 minutes", 6, "every 6 minutes"),
        ("every 2 days", 6, "every 1 days"),
        ("every 0 minutes", 6, None),
        ("every two hours", 6, "every 2 hours"),
        ("every second", 6, "every 1 seconds"),
        ("every 5 minutes at 9am", 16, "every 5 minutes"),
        ("evry day at 9am", 0, "every day at 9am"),
        ("tomorrow", 0, None),
        ("", 0, None),
    ],
)  # fmt: skip
def test_wrong_when(written: str, position: int, suggestion: str | None) -> None:
    error = refused(when=written)
    assert (error.position, error.suggestion) == (position, suggestion), error.message
    assert "every weekday at 9am" in error.examples


@pytest.mark.parametrize(
    ("written", "position", "suggestion"),
    [
        ("2026-01-02", 10, "2026-01-02T00:00:00"),
        ("2026-02-30T00:00:00Z", 0, None),
        ("2026-01-02T24:00:00Z", 0, None),
        ("1969-12-31T23:59:59Z", 0, None),
        ("2200-01-01T00:00:00Z", 0, None),
        ("2026-01-02T03:04:05+24:00", 19, None),
        ("1970-01-01T00:00:00+01:00", 0, None),
        ("2199-12-31T23:59:59-01:00", 0, None),
        ("20260102T030405Z", 0, None),
        ("tomorrow", 0, None),
    ],
)
def test_wrong_fire_at(written: str, position: int, suggestion: str | None) -> None:
    error = refused(fire_at=written)
    assert (error.position, error.suggestion) == (position, suggestion), error.message


def test_a_moment_that_does_not_exist_is_refused() -> None:
    error = refused(fire_at="2026-03-08T02:30:00", timezone="America/New_York")
    assert "does not exist in America/New_York" in error.message


@pytest.mark.parametrize(
    ("zone", "suggestion"),
    [
        ("america/new_york", "America/New_York"),
        ("America/NewYork", "America/New_York"),
        ("New York", "America/New_York"),
        ("berlin", "Europe/Berlin"),
        ("europe/berlim", "Europe/Berlin"),
        ("utc", "UTC"),
        ("America", None),
        ("../../etc/passwd", None),
        ("/etc/localtime", None),
        ("right/Europe/Berlin", None),
        ("", None),
        ("Europe/Berlin\0", None),
        ("Mars/Olympus_Mons_and_everything_that_surrounds_it_far", None),
    ],
)
def test_time_zones_of_the_iana_database_only(zone: str, suggestion: str | None) -> None:
    error = refused(cron="* * * * *", timezone=zone)
    assert "not a time zone" in error.message
    if suggestion is not None:
        assert error.suggestion == suggestion


@pytest.mark.parametrize("forms", [{}, {"cron": "* * * * *", "every": "5m"}])
def test_exactly_one_form(forms: dict[str, str]) -> None:
    assert "exactly one" in refused(**forms).message


def test_the_length_of_an_expression() -> None:
    longest = "0 9 * * " + "1," * ((MAX_EXPRESSION_LENGTH - 9) // 2) + "1"
    assert parse(cron=longest.ljust(MAX_EXPRESSION_LENGTH)).canonical == longest
    error = refused(cron=longest.ljust(MAX_EXPRESSION_LENGTH + 1))
    assert (error.position, error.suggestion) == (256, None)


@pytest.mark.parametrize(
    ("form", "canonical", "zone"),
    [("cron", "9 to 5", "UTC"), ("rate", "rate()", "UTC"), ("at", "at()", "UTC"), ("cron", "* * * * *", "Mars/Base")],
)
def test_a_row_that_holds_no_expression(form: str, canonical: str, zone: str) -> None:
    """A worker can record this error and continue."""
    with pytest.raises(ScheduleInvalid):
        read_stored(form, canonical, canonical, zone).next_after(datetime(2026, 1, 1, tzinfo=UTC))
