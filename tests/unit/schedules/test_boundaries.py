"""Where calendars and clocks have edges. Expected instants are worked out from the rules of the zones."""

from datetime import UTC, datetime

import pytest

from penstock.schedules.expression import Expression, occurrences, parse, parse_aws


def utc(text: str) -> datetime:
    return datetime.fromisoformat(text).replace(tzinfo=UTC)


def check(expression: Expression, after: str, expected: list[str], anchor: str | None = None) -> None:
    """The first instants after a time; one more is asked for when fewer than two are expected: there is no more."""
    count = max(2, len(expected))
    found = occurrences(expression, utc(after), count, utc(anchor) if anchor else None)
    assert [f"{instant:%Y-%m-%d %H:%M:%S}" for instant in found] == expected


NEW_YORK, LORD_HOWE, BEIRUT = "America/New_York", "Australia/Lord_Howe", "Asia/Beirut"


@pytest.mark.parametrize(
    ("cron", "zone", "after", "expected"),
    [
        # 8 March 2026: 2:00 EST becomes 3:00 EDT.
        ("30 2 * * *", NEW_YORK, "2026-03-07 12:00", ["2026-03-09 06:30:00", "2026-03-10 06:30:00"]),
        ("0 2 * * *", NEW_YORK, "2026-03-07 12:00", ["2026-03-09 06:00:00", "2026-03-10 06:00:00"]),
        ("0 3 * * *", NEW_YORK, "2026-03-07 12:00", ["2026-03-08 07:00:00", "2026-03-09 07:00:00"]),
        ("*/30 * * * *", NEW_YORK, "2026-03-08 06:00", ["2026-03-08 06:30:00", "2026-03-08 07:00:00"]),
        ("*/20 2-3 8 3 *", NEW_YORK, "2026-03-08 06:59", ["2026-03-08 07:00:00", "2026-03-08 07:20:00"]),
        # 1 November 2026: 2:00 EDT becomes 1:00 EST.
        ("30 1 * * *", NEW_YORK, "2026-10-31 12:00", ["2026-11-01 05:30:00", "2026-11-02 06:30:00"]),
        ("0 2 * * *", NEW_YORK, "2026-10-31 12:00", ["2026-11-01 07:00:00", "2026-11-02 07:00:00"]),
        ("*/30 * * * *", NEW_YORK, "2026-11-01 05:00", ["2026-11-01 05:30:00", "2026-11-01 07:00:00"]),
        ("*/30 * * * *", NEW_YORK, "2026-11-01 06:10", ["2026-11-01 07:00:00", "2026-11-01 07:30:00"]),
        ("* * * * * *", NEW_YORK, "2026-11-01 05:59:58", ["2026-11-01 05:59:59", "2026-11-01 07:00:00"]),
        ("* * * * * *", NEW_YORK, "2026-11-01 06:00:00", ["2026-11-01 07:00:00", "2026-11-01 07:00:01"]),
        ("* * * * * *", NEW_YORK, "2026-03-08 06:59:58", ["2026-03-08 06:59:59", "2026-03-08 07:00:00"]),
        # Half an hour: 4 October 2026, 2:00 becomes 2:30; 5 April 2026, 2:00 becomes 1:30.
        ("15 2 * * *", LORD_HOWE, "2026-10-02 16:00", ["2026-10-04 15:15:00", "2026-10-05 15:15:00"]),
        ("45 1 * * *", LORD_HOWE, "2026-04-04 12:00", ["2026-04-04 14:45:00", "2026-04-05 15:15:00"]),
        ("*/15 * * * *", LORD_HOWE, "2026-04-04 14:45", ["2026-04-04 15:30:00", "2026-04-04 15:45:00"]),
        ("*/15 * * * *", LORD_HOWE, "2026-10-03 15:15", ["2026-10-03 15:30:00", "2026-10-03 15:45:00"]),
        # Days without a midnight: Beirut on 29 March, Santiago on 6 September, Havana on 8 March 2026.
        ("0 0 * * *", BEIRUT, "2026-03-28 12:00", ["2026-03-29 21:00:00", "2026-03-30 21:00:00"]),
        ("0 0 * * *", "America/Santiago", "2026-09-05 12:00", ["2026-09-07 03:00:00", "2026-09-08 03:00:00"]),
        ("0 0 8 3 *", "America/Havana", "2026-01-01 00:00", ["2027-03-08 05:00:00", "2028-03-08 05:00:00"]),
        # A day with two midnights: the Azores on 25 October 2026.
        ("0 0 * * *", "Atlantic/Azores", "2026-10-24 12:00", ["2026-10-25 00:00:00", "2026-10-26 01:00:00"]),
        # Two hours: Troll on 29 March 2026, 1:00 becomes 3:00.
        ("30 1,2,3 * * *", "Antarctica/Troll", "2026-03-29 00:00", ["2026-03-29 01:30:00", "2026-03-29 23:30:00"]),
        # A whole day: Samoa had no 30 December 2011.
        ("0 12 * * *", "Pacific/Apia", "2011-12-29 23:00", ["2011-12-30 22:00:00", "2011-12-31 22:00:00"]),
        # Offsets of a quarter of an hour.
        ("0 9 * * *", "Asia/Kathmandu", "2026-01-01 00:00", ["2026-01-01 03:15:00", "2026-01-02 03:15:00"]),
    ],
)  # fmt: skip
def test_changes_of_the_clock(cron: str, zone: str, after: str, expected: list[str]) -> None:
    check(parse(cron=cron, timezone=zone), after, expected)


@pytest.mark.parametrize(
    ("cron", "after", "expected"),
    [
        ("0 0 29 2 *", "2026-01-01", ["2028-02-29 00:00:00", "2032-02-29 00:00:00"]),
        ("0 0 29 2 *", "2096-03-01", ["2104-02-29 00:00:00", "2108-02-29 00:00:00"]),
        ("0 0 28 2 *", "2028-02-28", ["2029-02-28 00:00:00", "2030-02-28 00:00:00"]),
        ("59 23 28-29 2 *", "2028-02-28 23:59", ["2028-02-29 23:59:00", "2029-02-28 23:59:00"]),
        ("0 0 31 * *", "2026-01-31", ["2026-03-31 00:00:00", "2026-05-31 00:00:00"]),
        ("0 0 30 * *", "2026-01-30", ["2026-03-30 00:00:00", "2026-04-30 00:00:00"]),
        ("0 0 L * *", "2028-01-31", ["2028-02-29 00:00:00", "2028-03-31 00:00:00"]),
        ("0 0 1 * *", "2026-12-01", ["2027-01-01 00:00:00", "2027-02-01 00:00:00"]),
        ("59 23 31 12 *", "2026-12-31 23:59", ["2027-12-31 23:59:00", "2028-12-31 23:59:00"]),
        ("* * * * *", "2026-12-31 23:59:30", ["2027-01-01 00:00:00", "2027-01-01 00:01:00"]),
        ("59 59 23 31 12 *", "2026-12-31 23:59:58", ["2026-12-31 23:59:59", "2027-12-31 23:59:59"]),
        ("0 0 30 2 *", "2026-01-01", []),
        ("0 0 31 4,6,9,11 *", "2026-01-01", []),
        ("0 0 30W 2 *", "2026-01-01", []),
        ("0 0 30 2 1", "2026-01-01", ["2026-02-02 00:00:00", "2026-02-09 00:00:00"]),
        ("0 0 1 1 *", "2198-12-31", ["2199-01-01 00:00:00"]),
        ("* * * * *", "2199-12-31 23:59:00", []),
        # crontab: both days restricted, either counts; one that names all days names all days.
        ("0 0 13 * 5", "2026-01-03", ["2026-01-09 00:00:00", "2026-01-13 00:00:00"]),
        ("0 0 1-31 * 1", "2026-01-06", ["2026-01-07 00:00:00", "2026-01-08 00:00:00"]),
        ("0 0 13 * 0-7", "2026-01-06", ["2026-01-07 00:00:00", "2026-01-08 00:00:00"]),
        ("0 0 15W * 5", "2026-01-08", ["2026-01-09 00:00:00", "2026-01-15 00:00:00"]),
        # 0 and 7 are Sunday.
        ("0 0 * * 7", "2026-01-01", ["2026-01-04 00:00:00", "2026-01-11 00:00:00"]),
        ("0 0 * * 5-7", "2026-01-01", ["2026-01-02 00:00:00", "2026-01-03 00:00:00"]),
        ("0 0 * * SAT-SUN", "2026-01-01", ["2026-01-03 00:00:00", "2026-01-04 00:00:00"]),
        # croniter takes a range of one value for all values.
        ("30-30 5-5 * * *", "2026-01-01", ["2026-01-01 05:30:00", "2026-01-02 05:30:00"]),
        ("59/15 * * * *", "2026-01-01", ["2026-01-01 00:59:00", "2026-01-01 01:59:00"]),
    ],
)  # fmt: skip
def test_edges_of_the_calendar(cron: str, after: str, expected: list[str]) -> None:
    check(parse(cron=cron), after, expected)


@pytest.mark.parametrize(
    ("expression", "after", "expected"),
    [
        # W: 15 August 2026 is a Saturday, 15 November 2026 a Sunday; 1 August 2026 a Saturday, 31 May 2026 a Sunday.
        ("cron(0 9 15W 8 ? *)", "2026-01-01", ["2026-08-14 09:00:00", "2027-08-16 09:00:00"]),
        ("cron(0 9 15W 11 ? *)", "2026-01-01", ["2026-11-16 09:00:00", "2027-11-15 09:00:00"]),
        ("cron(0 9 1W 8 ? *)", "2026-01-01", ["2026-08-03 09:00:00", "2027-08-02 09:00:00"]),
        ("cron(0 9 31W 5 ? *)", "2026-01-01", ["2026-05-29 09:00:00", "2027-05-31 09:00:00"]),
        ("cron(0 9 31W * ? *)", "2026-01-31", ["2026-03-31 09:00:00", "2026-05-29 09:00:00"]),
        ("cron(0 9 LW 5 ? *)", "2026-01-01", ["2026-05-29 09:00:00", "2027-05-31 09:00:00"]),
        ("cron(0 9 L 2 ? *)", "2026-03-01", ["2027-02-28 09:00:00", "2028-02-29 09:00:00"]),
        ("cron(0 9 L-1 2 ? *)", "2027-01-01", ["2027-02-27 09:00:00", "2028-02-28 09:00:00"]),
        ("cron(0 9 L-29 2 ? *)", "2026-01-01", []),
        ("cron(0 9 1,L * ? *)", "2026-01-01 09:00", ["2026-01-31 09:00:00", "2026-02-01 09:00:00"]),
        # L and # in day-of-week: 6 is Friday, 3 Tuesday, 7 Saturday.
        ("cron(15 10 ? * 6L *)", "2026-01-01", ["2026-01-30 10:15:00", "2026-02-27 10:15:00"]),
        ("cron(15 10 ? * FRIL *)", "2026-01-01", ["2026-01-30 10:15:00", "2026-02-27 10:15:00"]),
        ("cron(0 0 ? * 3#2 *)", "2026-01-01", ["2026-01-13 00:00:00", "2026-02-10 00:00:00"]),
        ("cron(0 0 ? * TUE#2 *)", "2026-01-01", ["2026-01-13 00:00:00", "2026-02-10 00:00:00"]),
        ("cron(0 0 ? * L *)", "2026-01-01", ["2026-01-03 00:00:00", "2026-01-10 00:00:00"]),
        ("cron(0 0 ? * 1 *)", "2026-01-01", ["2026-01-04 00:00:00", "2026-01-11 00:00:00"]),
        ("cron(0 0 ? 2 2#5 *)", "2044-03-01", ["2072-02-29 00:00:00", "2112-02-29 00:00:00"]),
        ("cron(0 0 ? * SAT-MON *)", "2026-01-01", ["2026-01-03 00:00:00", "2026-01-04 00:00:00"]),
        # Years.
        ("cron(0 0 1 1 ? 2030,2199)", "2026-01-01", ["2030-01-01 00:00:00", "2199-01-01 00:00:00"]),
        ("cron(59 23 31 12 ? 2026)", "2026-01-01", ["2026-12-31 23:59:00"]),
        ("cron(59 23 31 12 ? 2025)", "2026-01-01", []),
        ("cron(0 0 29 2 ? 2027/2)", "2026-01-01", []),
        ("cron(0 0 1 1 ? 2027/50)", "2026-01-01", ["2027-01-01 00:00:00", "2077-01-01 00:00:00", "2127-01-01 00:00:00",
                                                   "2177-01-01 00:00:00"]),
    ],
)  # fmt: skip
def test_days_and_years_of_aws(expression: str, after: str, expected: list[str]) -> None:
    check(parse_aws(expression), after, expected)


@pytest.mark.parametrize(
    ("expression", "after", "anchor", "expected"),
    [
        ("rate(5 minutes)", "2026-01-01 00:07", "2026-01-01 00:01", ["2026-01-01 00:11:00", "2026-01-01 00:16:00"]),
        ("rate(5 minutes)", "2026-01-01 00:11", "2026-01-01 00:01", ["2026-01-01 00:16:00", "2026-01-01 00:21:00"]),
        # The first time is the anchor itself: StartDate "to set the first occurrence of the schedule".
        ("rate(1 hour)", "2026-01-01 00:00", "2026-05-05 05:05:05", ["2026-05-05 05:05:05", "2026-05-05 06:05:05"]),
        # A day is 24 hours, in New York's spring as well.
        ("rate(1 day)", "2026-03-07 14:00", "2026-03-06 14:00", ["2026-03-08 14:00:00", "2026-03-09 14:00:00"]),
        ("rate(100 days)", "2026-12-31", "2026-01-01", ["2027-02-05 00:00:00", "2027-05-16 00:00:00"]),
    ],
)  # fmt: skip
def test_rates(expression: str, after: str, anchor: str, expected: list[str]) -> None:
    check(parse_aws(expression, "America/New_York"), after, expected, anchor)


def test_a_rate_without_an_anchor_counts_from_the_time_itself() -> None:
    check(parse_aws("rate(2 hours)"), "2026-01-01 00:30", ["2026-01-01 02:30:00", "2026-01-01 04:30:00"])


def test_an_anchor_counts_in_whole_seconds() -> None:
    expression = parse_aws("rate(1 minute)")
    anchor = datetime(2026, 1, 1, 0, 0, 0, 750_000, tzinfo=UTC)
    assert expression.next_after(anchor, anchor) == utc("2026-01-01 00:01:00")


def test_fractions_of_a_second_do_not_matter() -> None:
    """Strictly after, and never a fraction."""
    expression = parse(cron="*/10 * * * * *")
    assert expression.next_after(datetime(2026, 1, 1, 0, 0, 9, 999_999, UTC)) == utc("2026-01-01 00:00:10")
    assert expression.next_after(datetime(2026, 1, 1, 0, 0, 10, 1, UTC)) == utc("2026-01-01 00:00:20")


@pytest.mark.parametrize(
    ("expression", "zone", "instant"),
    [
        ("at(2022-11-20T13:00:00)", "America/New_York", "2022-11-20 18:00"),
        ("at(2026-11-01T01:30:00)", "America/New_York", "2026-11-01 05:30"),
        ("at(2026-07-01T00:00:00)", "UTC", "2026-07-01"),
    ],
)
def test_one_time_schedules(expression: str, zone: str, instant: str) -> None:
    """The first is the example of "One-time schedules" (EventBridge Scheduler User Guide)."""
    parsed = parse_aws(expression, zone)
    assert parsed.is_one_shot
    assert parsed.next_after(utc("2020-01-01")) == utc(instant)
    assert parsed.next_after(utc(instant)) is None
