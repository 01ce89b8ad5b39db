"""Tests each rule in docs/reference/verdicts.md on minutes with known numbers. The page defines the expected
verdicts."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone
from typing import Any

import pytest

from penstock.verdicts import Cause, Facts, Gauges, Kind, Minute, Verdict, is_asking_for_more, judge
from tests.support.verdicts.recorded import scores
from tests.support.verdicts.score import Score, is_close, score
from tests.support.verdicts.simulation import SCENARIOS, simulate

NOW = datetime(2026, 11, 2, 12, 0, 20, tzinfo=UTC)
NOON = NOW.replace(second=0)
MINUTE = timedelta(minutes=1)
STEADY = {"sent": 300, "received": 300, "deleted": 300, "visible": 0, "in_flight": 5, "delayed": 0}


def minute(ago: int, **columns: Any) -> Minute:
    """Returns the minute that began `ago` minutes before noon. If the minute has receives, the last receive is in the
    minute.
    """
    start = NOON - ago * MINUTE
    known = {**STEADY, **columns}
    if known["received"]:
        known.setdefault("last_received_at", start + timedelta(seconds=59))
    return Minute(start, **known)


def steady(first: int, last: int = 1, **columns: Any) -> list[Minute]:
    """Returns minutes with equal numbers."""
    return [minute(ago, **columns) for ago in range(first, last - 1, -1)]


def growing(since: int, by: int, **columns: Any) -> list[Minute]:
    """Returns an hour without a backlog, and then minutes with a growing backlog."""
    grown = [minute(ago, visible=by * (since + 1 - ago), **columns) for ago in range(since, 0, -1)]
    return steady(since + 60, since + 1) + grown


def verdict(minutes: list[Minute], **facts: Any) -> Verdict:
    return judge(minutes, Facts(**facts), NOW)


def kind(minutes: list[Minute], **facts: Any) -> Kind:
    return verdict(minutes, **facts).kind


# --- nothing wrong ---------------------------------------------------------------------------------------------------
def test_without_minutes_it_is_idle() -> None:
    assert verdict([]) == Verdict(Kind.IDLE, rate_minutes=1)


def test_consumers_that_keep_up() -> None:
    found = verdict(steady(60))
    assert (found.kind, found.since, found.cause, found.empties) == (Kind.OK, None, None, None)
    assert (found.arrival_rate, found.drain_rate, found.rate_minutes) == (5, 5, 5)


def test_nothing_for_five_minutes_is_idle() -> None:
    quiet = steady(60, 6, in_flight=0)
    assert (kind(quiet), verdict(quiet).since) == (Kind.IDLE, NOON - 5 * MINUTE)
    assert kind([*quiet, minute(5, in_flight=0)]) is Kind.OK


def test_a_queue_that_is_used_since_this_minute_is_not_idle() -> None:
    """The queue's first minute has not ended yet."""
    assert kind([minute(0, in_flight=0, last_received_at=NOON + timedelta(seconds=5))]) is Kind.OK


def test_rates_of_a_slow_queue_are_those_of_a_quarter_of_an_hour() -> None:
    found = verdict(steady(60, sent=3, received=3, deleted=3))
    assert (found.rate_minutes, found.arrival_rate) == (15, 3 / 60)


@pytest.mark.parametrize("history", [[], steady(120, 61, sent=1, received=1, deleted=1), steady(60, 31)])
@pytest.mark.parametrize("ago", [4, 6, 9, 14, 16, 29])
def test_a_queue_that_falls_behind_says_what_the_chart_shows(ago: int, history: list[Minute]) -> None:
    """30 messages came at once, a consumer received one of them, and nothing has happened since then."""
    still: dict[str, Any] = {
        "received": 0,
        "deleted": 0,
        "last_received_at": NOON - ago * MINUTE,
        "visible": 29,
        "in_flight": 1,
    }
    came = minute(ago, **{**still, "sent": 30, "received": 1})
    found = verdict([*history, came, *steady(ago - 1, sent=0, **still)], fifo=True)
    if found.kind is Kind.STALLED:
        assert ago >= 10
        return
    assert found.kind is Kind.FALLING_BEHIND
    assert found.cause is not Cause.ARRIVALS_ROSE or ago <= 5
    shown = 30 if ago <= found.rate_minutes else 0
    assert round(found.arrival_rate * 60 * found.rate_minutes) >= shown
    if found.cause is None:
        assert f"In the last {found.rate_minutes} minutes, " in found.cause_text
        assert ("no message arrived and none left the queue" in found.cause_text) == (found.arrival_rate == 0)


def test_a_backlog_without_a_known_cause_counts_what_came_and_left() -> None:
    still: dict[str, Any] = {
        "received": 0,
        "deleted": 0,
        "last_received_at": NOON - 8 * MINUTE,
        "visible": 29,
        "in_flight": 1,
    }
    found = verdict([minute(8, **{**still, "sent": 30, "received": 1}), *steady(7, sent=0, **still)], fifo=True)
    assert (found.kind, found.cause, found.rate_minutes) == (Kind.FALLING_BEHIND, None, 8)
    assert found.cause_text == "In the last 8 minutes, 30 messages arrived and none left the queue."
    assert found.arrival_rate == 30 / 480


# --- stalled ---------------------------------------------------------------------------------------------------------
def stopped(ago: int, **columns: Any) -> list[Minute]:
    """Returns minutes whose last receive was `ago` minutes ago."""
    last = NOON - ago * MINUTE
    rest = {"received": 0, "deleted": 0, "in_flight": 0, "last_received_at": last, **columns}
    return steady(60, ago + 1) + [minute(n, visible=300 * (ago + 1 - n), **rest) for n in range(ago, 0, -1)]


def test_a_queue_without_receivers_is_stalled() -> None:
    found = verdict(stopped(10))
    assert (found.kind, found.cause, found.since) == (
        Kind.STALLED, Cause.NOBODY_RECEIVES, NOON - 10 * MINUTE,
    )  # fmt: skip
    assert (found.seconds_since_receive, found.empties) == (620, None)


def test_ninety_seconds_are_a_stall_and_less_are_none() -> None:
    assert kind(stopped(1)) is not Kind.STALLED  # 80 seconds ago
    assert kind(stopped(2)) is Kind.STALLED


def test_a_wait_begins_when_messages_come() -> None:
    """The last receive was an hour ago, and the queue was empty until now."""
    idle = steady(120, 61)
    came = minute(1, sent=1, received=0, deleted=0, visible=1, in_flight=0, oldest_at=NOON - 10 * timedelta(seconds=1))
    assert kind([*idle, came._replace(last_received_at=NOON - 60 * MINUTE)]) is not Kind.STALLED


def test_all_in_flight_is_no_stall() -> None:
    """Consumers receive empty responses, because no message is available."""
    assert kind(steady(10, sent=0, received=0, deleted=0, visible=0, in_flight=200)) is not Kind.STALLED


def test_slow_handlers_are_no_stall() -> None:
    """Consumers take one message every two minutes. The rule waits for the length of seven gaps between receives while
    messages are in flight."""
    slow = [minute(ago, sent=1, received=ago % 2, deleted=ago % 2, visible=40, in_flight=4) for ago in range(60, 5, -1)]
    waiting: dict[str, Any] = {"sent": 1, "received": 0, "deleted": 0, "visible": 40}
    waiting["last_received_at"] = NOON - 5 * MINUTE
    assert kind([*slow, *steady(5, in_flight=4, **waiting)]) is not Kind.STALLED
    assert kind([*slow, *steady(5, in_flight=0, **waiting)]) is Kind.STALLED


def test_a_fifo_queue_waits_longer_while_messages_are_in_flight() -> None:
    """The other messages in a group wait for the message in flight."""
    assert kind(stopped(5, in_flight=1), fifo=True) is not Kind.STALLED
    assert kind(stopped(5, in_flight=1)) is Kind.STALLED
    assert kind(stopped(11, in_flight=1), fifo=True) is Kind.STALLED


def test_a_wait_that_was_seen_five_times_is_usual() -> None:
    """A consumer receives once an hour."""

    def day(hours: int) -> list[Minute]:
        waits: dict[str, Any] = {"sent": 5, "received": 0, "deleted": 0, "in_flight": 0}
        comes = {"sent": 5, "received": 300, "deleted": 300, "visible": 0, "in_flight": 0}
        found = []
        for ago in range(hours * 60 + 40, 0, -1):
            since = (hours * 60 + 40 - ago) % 60
            waits["last_received_at"] = NOON - (ago + since) * MINUTE
            found.append(minute(ago, visible=5 * since, **waits) if since else minute(ago, **comes))
        return found

    assert kind(day(6)) is not Kind.STALLED
    assert kind(day(3)) is Kind.STALLED


def test_dead_letters_need_attention_since_the_oldest_arrived() -> None:
    lies = [minute(30, sent=5, received=0, deleted=0, visible=5, in_flight=0, oldest_at=NOON - 30 * MINUTE)]
    assert (kind(lies), kind(lies, dead_letters=True)) == (Kind.STALLED, Kind.DEAD_LETTERS)
    fills = [*lies, *(minute(n, sent=5, received=0, deleted=0, visible=5 * (31 - n), in_flight=0,
                             oldest_at=NOON - 30 * MINUTE) for n in range(29, 0, -1))]  # fmt: skip
    for minutes in (lies, fills):
        found = verdict(minutes, dead_letters=True)
        assert (found.kind, found.since) == (Kind.DEAD_LETTERS, NOON - 30 * MINUTE)
    assert kind(stopped(20), dead_letters=True) is Kind.STALLED  # A consumer has received before.


# --- what was not measured -------------------------------------------------------------------------------------------
@pytest.mark.parametrize("nulls", [1, 3, 10])
def test_minutes_that_were_not_measured_change_nothing(nulls: int) -> None:
    for minutes in (steady(60), stopped(20), growing(20, 200, sent=500)):
        first = NOON - nulls * MINUTE
        nothing: dict[str, Any] = dict.fromkeys(("visible", "in_flight", "delayed", "oldest_at"))
        unmeasured = [row._replace(**nothing) if row.starts_at >= first else row for row in minutes]
        assert kind(unmeasured) is kind(minutes)


def test_an_estimated_backlog_is_no_stall() -> None:
    """The last minute with receives was not measured, so the estimated backlog can be wrong."""
    unmeasured: dict[str, Any] = {"visible": None, "in_flight": None, "delayed": None}
    rest = minute(6, sent=0, received=95, deleted=95, **unmeasured)
    assert kind([*steady(60, 7, visible=100, in_flight=0), rest]) is not Kind.STALLED


def test_a_minute_without_a_row_is_one_without_change() -> None:
    assert kind(stopped(30)[:-20]) is Kind.STALLED
    assert kind(steady(60, 30, in_flight=0)) is Kind.IDLE


def test_a_queue_in_which_nothing_has_changed_for_long_is_stalled() -> None:
    """Minutes without changes have no rows, and Penstock deletes rows after 25 hours. Only the last measurement of the
    queue remains."""
    days_ago = NOON - timedelta(days=3)
    found = verdict([], now=Gauges(NOW, visible=5, in_flight=0, delayed=0, oldest_at=days_ago))
    assert (found.kind, found.since, found.since_or_before) == (Kind.STALLED, days_ago, True)
    assert kind([], now=Gauges(NOW, visible=5, in_flight=0, delayed=0, oldest_at=NOW)) is not Kind.STALLED
    lying = Gauges(NOW, visible=5, in_flight=0, delayed=0, oldest_at=days_ago)
    assert kind([], now=lying, dead_letters=True) is Kind.DEAD_LETTERS
    assert kind([], now=lying._replace(visible=0), dead_letters=True) is Kind.IDLE


def test_newer_gauges_win() -> None:
    now = Gauges(NOW, visible=0, in_flight=0, delayed=0)
    assert kind(stopped(10), now=now) is not Kind.STALLED


def test_the_zone_of_the_times_means_nothing() -> None:
    zone = timezone(timedelta(hours=5, minutes=30))
    there = [row._replace(starts_at=row.starts_at.astimezone(zone)) for row in growing(20, 200, sent=500)]
    assert judge(there, Facts(), NOW.astimezone(zone)) == judge(growing(20, 200, sent=500), Facts(), NOW)


# --- expired messages ------------------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("minutes", "expired", "since", "is_received"),
    [
        (steady(30, 11) + steady(10, expired=4), 40, NOON - 10 * MINUTE, True),
        (steady(60, expired=2, received=0, deleted=0), 30, NOON - 60 * MINUTE, False),
        (steady(60, 20, expired=2) + steady(19), 0, None, True),
    ],
)
def test_messages_that_end_by_their_retention_are_counted(
    minutes: list[Minute], expired: int, since: datetime | None, is_received: bool
) -> None:
    """The kind of verdict does not depend on expired messages, because a short retention can be intended."""
    found = verdict(minutes)
    assert (found.expired, found.expiring_since, found.is_received) == (expired, since, is_received)


# --- throttled and poisoned ------------------------------------------------------------------------------------------
def test_the_limit_of_messages_in_flight() -> None:
    full = steady(60, 11) + steady(10, visible=50, received=0, deleted=0, in_flight=120_000)
    found = verdict(full)
    assert (found.kind, found.cause, found.since) == (Kind.THROTTLED, Cause.IN_FLIGHT_LIMIT, NOON - 10 * MINUTE)
    assert kind(full, in_flight_limit=None) is not Kind.THROTTLED


def test_a_paused_queue() -> None:
    found = verdict(steady(5, 11) + steady(10, visible=50, received=0, deleted=0), paused=True)
    assert (found.kind, found.cause) == (Kind.THROTTLED, Cause.QUEUE_PAUSED)
    assert kind(steady(60, 11, visible=0), paused=True) is not Kind.THROTTLED


def test_an_endpoint_that_is_down() -> None:
    comes = [minute(3, sent=7, received=0, deleted=0, visible=7, in_flight=0)]
    found = verdict(comes, paused_endpoints=1, dead_letters=True)
    assert (found.kind, found.cause) == (Kind.THROTTLED, Cause.ENDPOINT_DOWN)


def test_a_mapping_that_was_stopped() -> None:
    waits = steady(5, 11) + steady(10, visible=50, received=0, deleted=0, in_flight=0)
    found = verdict(waits, stopped_mapping="The mapping was stopped: The user ann does not exist any more.")
    assert (found.kind, found.cause) == (Kind.STALLED, Cause.MAPPING_STOPPED)
    assert found.cause_text.endswith(" The mapping was stopped: The user ann does not exist any more.")
    assert kind(steady(60, 11), stopped_mapping="x") is not Kind.STALLED, "others receive"


def test_a_function_that_fails() -> None:
    comes = steady(20, 11) + steady(10, deleted=0, visible=0, in_flight=50)
    known = {"failing_result": "PROBLEM: the target cannot be reached"}
    found = verdict(comes, failing_since=NOW - 5 * MINUTE, **known)
    assert (found.kind, found.cause, found.since) == (Kind.POISONED, Cause.FUNCTION_FAILS, NOW - 5 * MINUTE)
    assert found.cause_text == "A function that the queue triggers fails. The target cannot be reached."
    quiet = steady(20, visible=0, in_flight=0)
    assert verdict(quiet, failing_since=NOW - 60 * MINUTE, **known).cause is not Cause.FUNCTION_FAILS


def test_a_function_that_fails_alone_is_told_as_soon_as_its_mapping() -> None:
    """The deletes of the minute in which the failure began may be the function's. Later deletes are those of others,
    so only a longer failure counts then. Dead letters are no deletes."""
    works, fails = steady(20, 2), minute(1, deleted=0, dead_lettered=3, in_flight=50)
    begun = NOON - 50 * timedelta(seconds=1)
    assert verdict([*works, fails], failing_since=begun).cause is Cause.FUNCTION_FAILS
    assert verdict([*works, minute(1, in_flight=50)], failing_since=begun).cause is Cause.FUNCTION_FAILS
    seconds = timedelta(seconds=1)
    assert verdict([*works, fails], failing_since=NOW - 10 * seconds).cause is Cause.FUNCTION_FAILS
    assert verdict([*works, fails], failing_since=NOW - 9 * seconds).cause is not Cause.FUNCTION_FAILS
    shared = [*works, minute(1, deleted=1, in_flight=50)]
    assert verdict(shared, failing_since=NOON - 2 * MINUTE - seconds).cause is not Cause.FUNCTION_FAILS
    assert verdict(shared, failing_since=NOW - 5 * MINUTE).cause is Cause.FUNCTION_FAILS


def test_messages_that_come_again_and_end_as_dead_letters() -> None:
    found = verdict(steady(60, 13) + steady(12, redelivered=12, dead_lettered=3))
    assert (found.kind, found.cause, found.since) == (Kind.POISONED, Cause.POISON_GROUP, NOON - 12 * MINUTE)


def test_one_restart_of_consumers_is_no_poison() -> None:
    assert kind([*steady(60, 4), minute(3, redelivered=200), *steady(2)]) is Kind.OK


def test_a_message_that_stays_while_others_pass() -> None:
    stuck = {"redelivered": 4, "visible": 1}
    now_and_then = {"redelivered": 2, "visible": 1}  # of 300 messages
    assert kind(steady(60, oldest_at=NOON - 90 * MINUTE, **stuck)) is Kind.POISONED
    assert kind(steady(60, oldest_at=NOON - MINUTE, **stuck)) is Kind.OK
    assert kind(steady(60, oldest_at=NOON - 90 * MINUTE, **now_and_then)) is Kind.OK


@pytest.mark.parametrize(("timeout_seconds", "stuck_minutes"), [(0, 2), (30, 2), (60, 4), (75, 5), (43_200, 5)])
def test_a_message_is_stuck_after_four_visibility_timeouts(timeout_seconds: int, stuck_minutes: int) -> None:
    """The age counts at NOW, 20 seconds after the last complete minute."""
    facts = {"visibility_timeout": timedelta(seconds=timeout_seconds)}
    for ago, expected in ((stuck_minutes - 1, Kind.OK), (stuck_minutes, Kind.POISONED)):
        came = NOON - ago * MINUTE
        rows = [*steady(60, ago + 1, redelivered=4), *steady(ago, redelivered=4, visible=1, oldest_at=came)]
        assert kind(rows, **facts) is expected


def test_handlers_that_all_fail() -> None:
    found = verdict(steady(60, 13) + steady(12, received=500, redelivered=300, deleted=0, in_flight=300))
    assert (found.kind, found.cause) == (Kind.POISONED, Cause.HANDLERS_FAIL)


# --- backlogs --------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("minutes", "facts", "cause"),
    [
        (growing(20, 200, sent=500), {}, Cause.ARRIVALS_ROSE),
        (growing(20, 200, sent=500), {"noisy_groups": 1}, Cause.ONE_GROUP),
        (growing(20, 200, sent=500), {"top_group_share": 0.6}, Cause.ONE_GROUP),
        (growing(20, 200, received=100, deleted=100, in_flight=2), {}, Cause.CONSUMERS_FELL),
        (growing(20, 200, received=100, deleted=100, in_flight=5), {}, Cause.SLOW_HANDLERS),
    ],
)
def test_falling_behind(minutes: list[Minute], facts: dict[str, Any], cause: Cause) -> None:
    found = verdict(minutes, **facts)
    assert (found.kind, found.cause, found.since) == (Kind.FALLING_BEHIND, cause, NOON - 20 * MINUTE)
    assert (found.empties, found.backlog) == (None, 4000)
    assert is_asking_for_more(found)


def test_consumers_needed() -> None:
    """Five messages are in flight and 300 are done in a minute, so each takes a second. In a minute, 500 arrive, and
    4,000 wait.
    """
    found = judge(growing(20, 200, sent=500), Facts(), NOW, target_lag_seconds=100)
    assert (found.consumers_now, found.consumers_needed) == (5, 49)  # 500 / 60 + 4,000 / 100 = 48.3
    failed: list[dict[str, Any]] = [{"received": 301, "redelivered": 1}, {"deleted": 299, "dead_lettered": 1}]
    for failures in failed:
        poisoned = growing(20, 200, **{"sent": 500, "in_flight": 35, **failures})
        unknown = judge(poisoned, Facts(), NOW, target_lag_seconds=100)
        assert (unknown.consumers_now, unknown.consumers_needed) == (None, None)
        # One minute contains a failed message, which is also in flight in the minute before.
        mixed = [*growing(20, 200, sent=500)]
        mixed[-3] = mixed[-3]._replace(in_flight=35, **failures)
        mixed[-4] = mixed[-4]._replace(in_flight=35)
        found = judge(mixed, Facts(), NOW, target_lag_seconds=100)
        assert (found.consumers_now, found.consumers_needed in (48, 49)) == (5, True)
    assert verdict(steady(60)).consumers_now is None  # Some consumers can be idle.
    assert verdict(steady(60, sent=0, received=0, deleted=0, in_flight=0)).consumers_needed is None


def test_draining_until_it_is_empty() -> None:
    """At 200 a minute, 2,000 messages take ten more minutes."""
    peak = [minute(ago, visible=4000) for ago in range(60, 10, -1)]
    found = verdict(
        peak + [minute(ago, received=500, deleted=500, visible=2000 + 200 * (ago - 1)) for ago in range(10, 0, -1)]
    )
    assert (found.kind, found.since) == (Kind.DRAINING, NOON - 10 * MINUTE)
    assert found.empties is not None
    assert found.empties.at - NOW == timedelta(minutes=10)
    assert found.empties.low <= found.empties.at
    assert found.empties.high is None or found.empties.high >= found.empties.at


@pytest.mark.parametrize(("now_visible", "expected"), [(3000, Kind.DRAINING), (3400, Kind.FALLING_BEHIND)])
def test_consumers_that_are_back_are_seen_before_their_first_full_minute(now_visible: int, expected: Kind) -> None:
    """The backlog grew to 3,200 in ten minutes without consumers. The rule uses the most recent change of the
    backlog."""
    away = [minute(ago, received=0, deleted=0, visible=320 * (11 - ago), in_flight=0) for ago in range(10, 0, -1)]
    back = minute(0, sent=60, received=260, deleted=260, visible=now_visible, last_received_at=NOW)
    assert kind([*steady(60, 11), *away, back]) is expected


def test_a_batch_is_no_backlog_until_it_stands() -> None:
    quiet = steady(60, 4, sent=0, received=0, deleted=0, in_flight=0)
    loads = minute(3, sent=5000, received=200, deleted=200, visible=4800)
    works = [minute(ago, sent=0, received=200, deleted=200, visible=4200 + 200 * ago) for ago in (2, 1)]
    assert kind([*quiet, minute(1, sent=5000, received=200, deleted=200, visible=4800)]) is Kind.OK
    assert kind([*quiet, loads, *works]) is Kind.DRAINING


# --- days ------------------------------------------------------------------------------------------------------------
# Tests verdicts on generated days for which the correct verdicts are known (tests/support/verdicts).


EVERY_MINUTES = 12
JUDGED = {name: scenario for name, scenario in SCENARIOS.items() if scenario.expected}
DRAINING = ("diurnal, too few at the peak", "outage, long drain", "autoscaled, too little")
RIGHT_RESPONSES = 0.8


@pytest.mark.parametrize("name", JUDGED)
def test_a_day_gets_the_verdicts_that_it_deserves(name: str) -> None:
    """At the border between two verdicts, both are correct."""
    found = score(JUDGED[name], simulate(JUDGED[name].plan), every=EVERY_MINUTES)
    assert found.right > 0
    assert found.wrong.total() <= 0.01 * found.right, found.wrong


def test_a_backlog_is_gone_when_it_was_said_to_be() -> None:
    """Four of five hourly responses are within a fifth of the true value, for queues that empty within five hours."""
    days = [(SCENARIOS[name], simulate(SCENARIOS[name].plan)) for name in DRAINING]
    responses = [response for scenario, day in days for response in score(scenario, day, every=60).drains]
    close = sum(is_close(said, true) for _, said, true in responses)
    assert len(responses) >= 15
    assert close >= RIGHT_RESPONSES * len(responses), responses


def test_the_score_would_notice() -> None:
    """A naive rule is wrong on a day with a batch every hour."""
    scenario = SCENARIOS["hourly batch"]
    found: Score = score(scenario, simulate(scenario.plan), every=2, by_naive=True)
    assert found.wrong.total() > 0.1 * found.right


def test_recorded_runs_of_the_benchmarks() -> None:
    verdicts, naive = scores()
    assert not verdicts.wrong
    assert verdicts.right > naive.right + 5
    assert all(verdicts.drains)
    assert verdicts.drains
