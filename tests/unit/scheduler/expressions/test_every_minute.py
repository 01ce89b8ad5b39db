"""next_after against a walk over the minutes of 28 zones, ten years with all their changes of the clock."""

from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

import pytest

from penstock.scheduler.expressions.expression import occurrences, parse
from tests.support.schedules.reference_minutes import YEARS, ZONES, changes, matcher, minutes_of

EXPRESSIONS = (
    "* * * * *", "*/7 * * * *", "30 1 * * *", "30 2 * * *", "0 0 * * *", "15 0-3 * * *", "45 23 * * *",
    "59 */2 31 * 0",
)  # fmt: skip


@pytest.mark.parametrize("name", ZONES)
def test_around_every_change_of_the_clock(name: str) -> None:
    zone = ZoneInfo(name)
    matchers = {expression: matcher(expression) for expression in EXPRESSIONS}
    seen = 0
    for change in changes(zone):
        seen += 1
        start = change - timedelta(hours=1)
        minutes = list(minutes_of(zone, start, change + timedelta(hours=3)))
        for expression, matches in matchers.items():
            expected = [instant for instant, local in minutes if matches(local)]
            parsed = parse(cron=expression, timezone=name)
            before = start - timedelta(seconds=1)
            assert occurrences(parsed, before, len(expected)) == expected, (expression, change)
    assert seen


@pytest.mark.slow
@pytest.mark.parametrize("name", ZONES)
def test_every_minute_of_ten_years(name: str) -> None:
    zone = ZoneInfo(name)
    start, end = (datetime(year, 1, 1, tzinfo=UTC) for year in YEARS)
    wanted = {expression: matcher(expression) for expression in EXPRESSIONS[2:]}
    expected: dict[str, list[datetime]] = {expression: [] for expression in wanted}
    for instant, local in minutes_of(zone, start, end):
        for expression, matches in wanted.items():
            if matches(local):
                expected[expression].append(instant)
    for expression, instants in expected.items():
        parsed = parse(cron=expression, timezone=name)
        assert occurrences(parsed, start - timedelta(seconds=1), len(instants)) == instants, expression
