"""Tests the sentences about local times that a change of the clock removes or repeats.

The clocks of these zones are in the IANA database. The rule for both kinds of times is in "Schedule types", EventBridge
Scheduler User Guide.
"""

from datetime import UTC, datetime

import pytest

from penstock.scheduler.expressions.clock_changes import describe_clock_changes
from penstock.scheduler.expressions.expression import parse, parse_aws

ONLY_ONCE = "02:30 occurs twice, and the schedule fires only once."
NOW = datetime(2026, 11, 29, tzinfo=UTC)
BERLIN, LORD_HOWE = "Europe/Berlin", "Australia/Lord_Howe"
GAP = "On 2027-03-28 the clock of Europe/Berlin goes forward from 02:00 to 03:00. The schedule skips "
HALF_AN_HOUR = "On 2027-04-04 the clock of Australia/Lord_Howe goes back from 02:00 to 01:30. "
MOMENT = "2027-10-31 02:30 occurs twice in Europe/Berlin. The schedule fires the first time."
REPEAT = "On 2027-10-31 the clock of Europe/Berlin goes back from 03:00 to 02:00. "


@pytest.mark.parametrize(
    ("expression", "zone", "sentences"),
    [
        (
            "cron(30 2 * * ? *)", BERLIN,
            [f"{GAP}02:30, which does not exist that day.", f"{REPEAT}{ONLY_ONCE}"],
        ),
        (
            "cron(0/20 * * * ? *)", BERLIN,
            [
                f"{GAP}the local times from 02:00 on, which do not exist that day.",
                f"{REPEAT}The local times from 02:00 on occur twice, and the schedule fires only once.",
            ],
        ),
        ("cron(0 3 * * ? *)", BERLIN, []),
        ("cron(59 1 * * ? *)", BERLIN, []),
        ("cron(30 2 ? * MON-FRI *)", BERLIN, []),
        ("cron(30 2 * * ? 2026)", BERLIN, []),
        ("cron(30 2 * * ? *)", "UTC", []),
        ("cron(30 2 * * ? *)", "Asia/Kolkata", []),
        (
            "cron(45 1 * * ? *)", LORD_HOWE,
            [f"{HALF_AN_HOUR}01:45 occurs twice, and the schedule fires only once."],
        ),
        ("rate(20 minutes)", BERLIN, []),
        ("at(2027-10-31T02:30:00)", BERLIN, [MOMENT]),
        ("at(2027-10-31T03:00:00)", BERLIN, []),
    ],
)  # fmt: skip
def test_each_change_that_affects_the_expression(expression: str, zone: str, sentences: list[str]) -> None:
    assert describe_clock_changes(parse_aws(expression, zone), NOW) == sentences


@pytest.mark.parametrize(
    ("text", "number"),
    [
        ("2027-10-31T02:30:00", 1),
        ("2027-10-31T02:30:00+02:00", 0),
        ("2027-10-31T00:30:00Z", 0),
        ("2027-10-30T02:30", 0),
    ],
)
def test_a_moment_with_an_offset_occurs_once(text: str, number: int) -> None:
    assert len(describe_clock_changes(parse(fire_at=text, timezone=BERLIN), NOW)) == number


def test_a_change_outside_the_period_is_not_told() -> None:
    expression = parse_aws("cron(30 2 * * ? *)", BERLIN)
    assert describe_clock_changes(expression, NOW, datetime(2027, 3, 1, tzinfo=UTC)) == []
    assert len(describe_clock_changes(expression, NOW, datetime(2027, 4, 1, tzinfo=UTC))) == 1
    assert describe_clock_changes(expression, datetime(2027, 4, 1, tzinfo=UTC), datetime(2027, 10, 1, tzinfo=UTC)) == []
