"""Tests the first screen of the report with constructed states.

Contrast: WCAG 2.2, success criteria 1.4.3 and 1.4.11.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from penstock.management.attention import reading as attention
from penstock.management.attention.concerns import describe_endpoints, describe_late_work
from penstock.management.attention.reading import Judged, JudgedQueue, find_concerns, list_dead, list_troubled
from penstock.management.verdicts import Observed, rank_badness
from penstock.postgres.statements.deliveries import FailedEndpointRow
from penstock.postgres.statements.metrics import LateWorkRow, VerdictFactsRow
from penstock.postgres.statements.queues import OverviewRow
from penstock.settings import Settings
from penstock.verdicts import Cause, Emptying, Facts, Kind, Minute, Verdict
from penstock.verdicts.series import build_series
from penstock_web.report.advice import BY_CAUSE, BY_KIND, advice_on
from penstock_web.report.last_hours import build_last_hours
from penstock_web.report.now import build_now_section
from penstock_web.report.page import STYLE
from penstock_web.report.state import Named, QueueState, ReportState
from tests.support.web.console import of_class, pictures, table

NOW = datetime(2026, 11, 26, 17, 40, 30, tzinfo=UTC)
MINUTE = timedelta(minutes=1)
DOCS = Path(__file__).parents[4] / "docs"


def facts(**known: Any) -> VerdictFactsRow:
    """Returns the facts of a recently measured standard queue."""
    row = VerdictFactsRow(
        1, "arn", NOW, False, False, 0, None, 0, None, False, measured_at=NOW, visible=5, in_flight=0, delayed=0,
        oldest_at=NOW - 20 * MINUTE, paused=False, stopped_mapping=None, failing_since=None,
        failing_result=None, retention_seconds=345_600, expires_at=None, visibility_timeout_seconds=30,
    )  # fmt: skip
    return row._replace(**known)


def queue(name: str, kind: Kind, minutes: Sequence[Minute] = (), **known: Any) -> QueueState:
    """Returns a queue that has had the given verdict for ten minutes."""
    of_facts = {name: known.pop(name) for name in list(known) if name in VerdictFactsRow._fields}
    verdict = Verdict(kind, **{"since": NOW - 10 * MINUTE, "backlog": 5, **known})
    return QueueState(name, verdict, facts(**of_facts), build_series(minutes, Facts(), NOW))


def page(*queues: QueueState, **known: Any) -> str:
    """Returns the first screen for the given queues with problems."""
    counts = Counter(queue.verdict.kind for queue in queues)
    return "".join(build_now_section(ReportState(NOW, NOW, counts, list(queues), **known)))


def busy(*, minutes: int = 30, **counts: int) -> list[Minute]:
    """Returns `minutes` minutes with equal counts. The last minute has just ended."""
    end = NOW.replace(second=0)
    known: dict[str, Any] = {"sent": 60, "received": 30, "deleted": 30, "visible": 100, "in_flight": 0, **counts}
    return [Minute(end - n * MINUTE, **known) for n in range(minutes, 0, -1)]


def test_a_queue_that_falls_behind() -> None:
    empties = Emptying(NOW + 30 * MINUTE, NOW + 20 * MINUTE, None)
    behind = queue(
        "orders", Kind.FALLING_BEHIND, busy(), cause=Cause.CONSUMERS_FELL, cause_text="Some have stopped.",
        empties=empties, consumers_now=4, consumers_needed=10, backlog=1234,
    )  # fmt: skip
    assert table(page(behind), "state") == [{
        "Verdict": "falling behind", "Queue": "orders", "Since": "17:30 10 min", "Why": "Some have stopped.",
        "Waiting": "1,234", "Oldest": "-", "In /s": "1.00", "Out /s": "0.50", "Empty at": "18:10 18:00 or never",
        "What to do": "Restart the stopped consumers, or start more consumers (2.5 times as many)."
        " /docs/operate/waiting/#consumers-are-too-slow",
    }]  # fmt: skip
    assert "1 of 1 queue needs attention" in page(behind)


@pytest.mark.parametrize(
    ("known", "column", "text"),
    [
        ({"kind": Kind.STALLED}, "Empty at", "no receives"),
        ({"kind": Kind.FALLING_BEHIND}, "Empty at", "not at these rates"),
        ({"kind": Kind.FALLING_BEHIND}, "Why", "The backlog does not shrink."),
        ({"kind": Kind.DRAINING, "consumers_now": 1, "consumers_needed": 9}, "What to do",
         "Nothing. The queue recovers."),
        ({"kind": Kind.STALLED, "since_or_before": True}, "Since", "before 17:30 10 min"),
        ({"kind": Kind.STALLED, "since": NOW - timedelta(days=1)}, "Since", "25 Nov 17:40 1 d"),
        ({"kind": Kind.STALLED, "since": None}, "Since", "-"),
        ({"kind": Kind.FALLING_BEHIND, "cause": Cause.ONE_GROUP, "top_group_share": 0.72, "noisy_groups": 1},
         "Why", ("The backlog does not shrink. 1 noisy group; "
                 "the busiest group has 72 % of the messages")),
    ],
)  # fmt: skip
def test_a_cell_shows_this_text(known: dict[str, Any], column: str, text: str) -> None:
    (row,) = table(page(queue("orders", **known)), "state")
    assert row[column] == text


def test_healthy_queues_are_one_line() -> None:
    counts = Counter({Kind.OK: 2000, Kind.IDLE: 3})
    text = "".join(build_now_section(ReportState(NOW, NOW, counts, healthy=[Named("calm", Kind.OK)])))
    assert "None of 2,003 queues needs attention." in text
    assert "Healthy queues: 2,000 keep up, 3 are idle" in text
    assert "2,002 more" in text
    assert table(text, "state") == []


def test_dead_letters_have_a_row_and_endpoints_a_line() -> None:
    since = NOW - 20 * MINUTE
    letters = QueueState("orders-dlq", Verdict(Kind.DEAD_LETTERS, since, backlog=41), facts(dead_letters=True))
    row = FailedEndpointRow("https://u:p@a.test/hook?token=x", 3, since, "503", since, stopped=False)
    endpoints = find_concerns((), describe_endpoints([row] * 6))
    state = ReportState(NOW, NOW, Counter({Kind.DEAD_LETTERS: 1}), [letters], others=endpoints)
    text = " ".join(re.sub(r"<.*?>", " ", "".join(build_now_section(state))).split())
    assert "1 of 1 queue needs attention : 1 dead letters" in text
    assert "dead letters orders-dlq 17:20" in text
    assert "https://a.test/hook since 17:20: 3 deliveries were given up: 503." in text
    assert "2 more: penstock status" in text


def judged(name: str, verdict: Verdict, arrived: int = 0, **known: Any) -> JudgedQueue:
    """Returns a queue of the overview."""
    row = OverviewRow(name, f"arn:{name}", None, None, 5, 0, 0, 0, None, NOW, NOW)
    return JudgedQueue(row, Observed(facts(**known), (), verdict), arrived)


def test_no_verdict_hides_dead_letters() -> None:
    """The count includes letters that are in flight, and the time is that of the oldest letter's arrival."""
    since = NOW - 6 * MINUTE
    stalled = Verdict(Kind.STALLED, NOW, cause=Cause.NOBODY_RECEIVES, cause_text="No receives.", backlog=5)
    queue = judged("orders-dlq", stalled, 7, dead_letters=True, in_flight=2, delayed=1, oldest_at=since)
    found = {one.kind: one for one in find_concerns([queue])}
    letters = found["dead_letters"]
    assert (letters.number, letters.since, letters.level) == (8, since, "warn")
    assert letters.text == "8 dead letters; 7 arrived in the last hour."
    assert letters.page == "/console/queues/orders-dlq/failures"
    assert found["stalled"].number == 5
    received = judged("orders-dlq", Verdict(Kind.DEAD_LETTERS), dead_letters=True, visible=0, in_flight=1)
    (one,) = find_concerns([received])
    assert (one.number, one.text) == (1, "1 dead letter; none arrived in the last hour.")
    assert find_concerns([judged("orders-dlq", Verdict(Kind.IDLE), dead_letters=True, visible=0)]) == []


@pytest.mark.parametrize(
    ("kind", "cause", "page"),
    [(Kind.STALLED, Cause.NOBODY_RECEIVES, "/queues/a"), (Kind.STALLED, Cause.MAPPING_STOPPED, "/mappings?queue=a"),
     (Kind.POISONED, Cause.FUNCTION_FAILS, "/mappings?queue=a"), (Kind.FALLING_BEHIND, None, "/queues/a"),
     (Kind.POISONED, Cause.POISON_GROUP, "/queues/a/messages?min_receives=2"),
     (Kind.THROTTLED, Cause.ENDPOINT_DOWN, "/deliveries")],
)  # fmt: skip
def test_a_concern_leads_to_the_page_where_it_is_mended(kind: Kind, cause: Cause | None, page: str) -> None:
    (found,) = find_concerns([judged("a", Verdict(kind, cause=cause, backlog=1))])
    assert found.page == f"/console{page}"


@pytest.mark.parametrize(
    ("row", "level", "name", "text", "page"),
    [
        (("schedules_late", None, 1, None), "bad", "Schedules", "Schedules are due and did not fire.",
         "/schedules"),
        (("schedules_late", "night:<a>", 1, None), "bad", "night:<a>", "night:<a> is due and did not fire.",
         "/schedules/night%3A%3Ca%3E"),
        (("schedules_late", "a", 3, None), "bad", "a and 2 more", "a and 2 more are due and did not fire.",
         "/schedules"),
        (("schedules_late", "a", 10_000, None), "bad", "a and at least 9,999 more",
         "a and at least 9,999 more are due", "/schedules"),
        (("mapping_fails", "https://u:p@a.test/x?k=1", 2, "PROBLEM: the target cannot be reached", "q"), "bad",
         "q to https://a.test/x", "No invocation succeeds: the target cannot be reached.", "/mappings/7"),
        (("mapping_stopped", "f", 2, "its user was deleted.", "q"), "bad", "q to f",
         "The service stopped the mapping: its user was deleted.", "/mappings/7"),
        (("schedule_fails", "<a>/b", 2, "no queue"), "warn", "<a>/b", "The schedule failed 2 times: no queue.",
         "/schedules/%3Ca%3E%2Fb"),
        (("schedule_paused", "a", 3, "Queue 'q' did not exist"), "bad", "a",
         "The schedule is paused after 3 failures: Queue 'q' did not exist. It fires again after you resume it.",
         "/schedules/a"),
        (("schedule_paused", "a", 1, None), "bad", "a", "The schedule is paused after 1 failure: no cause.",
         "/schedules/a"),
        (("deliveries_late", "https://a.test/x?k=1", 2, None), "bad", "https://a.test/x and 1 more",
         "2 due deliveries wait, the first to https://a.test/x.", "/deliveries?view=waiting"),
        (("subscriber_lags", "billing", 2, None, "orders"), "bad", "orders/billing",
         "2 events wait for the subscriber. A process",
         "/buses/orders/subscribers/billing"),
        (("subscriber_lags", "billing", 1, "no target", "orders"), "bad", "orders/billing",
         "1 event waits for the subscriber. no target.",
         "/buses/orders/subscribers/billing"),
        (("subscriber_stopped", "billing", 2, None, "orders"), "info", "orders/billing",
         "A user stopped the subscriber, and 2 events wait.",
         "/buses/orders/subscribers/billing"),
        (("subscriber_fails", "billing", 1, "RESOURCE_NOT_FOUND: gone.", "orders"), "warn", "orders/billing",
         "The target refuses 1 event: RESOURCE_NOT_FOUND: gone.",
         "/buses/orders/subscribers/billing"),
        (("subscriber_drops", "billing", 6060, "RESOURCE_NOT_FOUND: gone.", "orders"), "bad", "orders/billing",
         "6,060 events dropped, no failure queue: RESOURCE_NOT_FOUND: gone.",
         "/buses/orders/subscribers/billing"),
        (("old_transaction", None, 1, None), "warn", "Database", "A transaction is open.", "/system"),
        (("old_snapshot", None, 12_000_000, None), "bad", "Database", "A snapshot is 12,000,000 transactions old.",
         "/system"),
    ],
)  # fmt: skip
def test_late_work(row: tuple[Any, ...], level: str, name: str, text: str, page: str) -> None:
    kind, named, number, error, *owner = row
    found = describe_late_work(LateWorkRow(kind, named, number, NOW, error, "7", *owner))
    assert (found.kind, found.level, found.name, found.since, found.number) == (kind, level, name, NOW, number)
    assert found.text.startswith(text)
    assert found.page == f"/console{page}"


@pytest.mark.parametrize("kind", ["schedules_late", "deliveries_late"])
def test_the_advice_about_late_work_is_for_this_process(kind: str) -> None:
    """A process that does the work itself does not ask for another process, and a lock is named first."""
    row, on = LateWorkRow(kind, "a", 1, NOW, None), Settings.read({})
    assert "A process with QUEUE_" in describe_late_work(row).text
    off = on.replace(queue_schedule_enabled=False, queue_http_delivery_enabled=False)
    assert "A process with QUEUE_" in describe_late_work(row, off).text
    assert "This process " in describe_late_work(row, on).text
    blocked = row._replace(error="PostgreSQL's process 7 holds a lock")
    assert describe_late_work(blocked, on).text.endswith("process 7 holds a lock: end its transaction.")


def test_a_subscriber_of_another_accounts_bus_has_no_page() -> None:
    bus = "arn:aws:events:us-east-1:111122223333:event-bus/orders"
    found = describe_late_work(LateWorkRow("subscriber_lags", "billing", 2, NOW, None, owner=bus))
    assert (found.name, found.bus, found.page) == (f"{bus}/billing", bus, "")


def test_an_endpoint_leads_to_its_attempts_unless_the_url_has_a_secret() -> None:
    pages = [
        find_concerns((), describe_endpoints([FailedEndpointRow(url, 0, None, None, None, False, NOW, 1)]))[0].page
        for url in ("https://a.test/x", "https://a.test/x?token=1")
    ]
    attempts = "/console/deliveries?view=attempts&failed=1"
    assert pages == [f"{attempts}&endpoint=https%3A%2F%2Fa.test%2Fx", attempts]


def test_the_most_severe_come_first_and_of_those_the_worst_of_each_kind() -> None:
    """Many stalled queues would hide other severe problems in `penstock status`, which shows 15 lines."""
    stalled = [(f"q{n}", Verdict(Kind.STALLED, NOW, backlog=n)) for n in range(15)]
    lost = [("lossy", Verdict(Kind.OK, expired=3, is_received=True)), ("unread", Verdict(Kind.IDLE, expired=1))]
    rows = [FailedEndpointRow(f"https://{n}.test", n, NOW, "503", NOW, stopped=n == 1, waiting=30) for n in range(2)]
    queues = [judged(name, verdict) for name, verdict in [*stalled, *lost]]
    found = find_concerns(queues, describe_endpoints(rows))
    assert [(one.kind, one.name, one.number) for one in found][:6] == [
        ("stalled", "q14", 14), ("messages_expire", "unread", 1), ("given_up", "https://1.test", 1),
        ("stalled", "q13", 13), ("stalled", "q12", 12), ("stalled", "q11", 11),
    ]  # fmt: skip
    assert [(one.level, one.name, one.state) for one in found[-3:]] == [
        ("warn", "https://0.test", "fails"), ("warn", "lossy", "messages expire"), ("info", "https://1.test", "paused"),
    ]  # fmt: skip
    assert found[1].text.endswith("ended in 15 minutes because their retention was over, and no consumer received any.")


@pytest.mark.parametrize(
    ("retention", "left", "begins"),
    [
        (timedelta(minutes=1), timedelta(seconds=12), timedelta(0)),
        (timedelta(minutes=1), timedelta(seconds=13), None),
        (timedelta(days=14), timedelta(hours=23), timedelta(hours=1)),
        (timedelta(days=14), timedelta(hours=25), None),
        (timedelta(days=4), timedelta(0), timedelta(hours=19, minutes=12)),
    ],
)
def test_messages_expire_soon_in_the_last_fifth_of_the_retention_or_the_last_day(
    retention: timedelta, left: timedelta, begins: timedelta | None
) -> None:
    """docs/reference/verdicts.md, "What needs attention"."""
    known: dict[str, Any] = {"retention_seconds": int(retention.total_seconds()), "expires_at": NOW + left}
    found = find_concerns([judged("waits", Verdict(Kind.OK), **known)])
    assert [(one.kind, one.level, one.number, NOW - one.since) for one in found if one.since] == (
        [] if begins is None else [("messages_expire", "bad", 0, begins)]
    )
    (received, none) = (
        find_concerns([judged("waits", Verdict(Kind.OK, is_received=True), **known, visible=visible)])
        for visible in (5, 0)
    )
    assert [one.level for one in received] == ([] if begins is None else ["warn"])
    assert none == []


def test_many_dead_letters_come_first_though_none_arrives() -> None:
    """An operator looks at the top of the overview, of `penstock status` and of the list of queues."""
    dead = Verdict(Kind.DEAD_LETTERS, backlog=400)
    queues = [
        judged("few-dead", Verdict(Kind.DEAD_LETTERS, backlog=9), dead_letters=True, visible=9),
        judged("stuck", Verdict(Kind.STALLED, NOW, backlog=12)),
        judged("failing", Verdict(Kind.POISONED, cause=Cause.FUNCTION_FAILS, backlog=40)),
        judged("many-dead", dead, dead_letters=True, visible=400), judged("empty", Verdict(Kind.IDLE)),
    ]  # fmt: skip
    ranked = ["many-dead", "failing", "stuck", "few-dead"]
    rows = [LateWorkRow("old_snapshot", None, 20_000_000, NOW, None, None)]
    assert [one.name for one in find_concerns(queues, map(describe_late_work, rows))] == [
        *ranked[:3],
        "Database",
        ranked[3],
    ]
    judgement = Judged(queues[0].row, queues)
    assert list_troubled(judgement) == ranked
    assert list_dead(judgement) == ["many-dead", "few-dead"]
    assert [queue.row.name for queue in sorted(queues, key=lambda one: rank_badness(one.seen.verdict))][:4] == ranked


def test_a_queue_that_a_user_paused_is_less_severe_than_one_that_messages_return_to() -> None:
    paused = judged("a", Verdict(Kind.THROTTLED, cause=Cause.QUEUE_PAUSED, backlog=99))
    found = find_concerns(
        [paused, judged("b", Verdict(Kind.POISONED, backlog=1)), judged("c", Verdict(Kind.THROTTLED, backlog=2))]
    )
    assert [(one.name, one.level, one.state) for one in found] == [
        ("c", "bad", "throttled"), ("b", "bad", "poisoned"), ("a", "warn", "paused"),
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("verdict", "known"),
    [(Verdict(Kind.POISONED, cause=Cause.FUNCTION_FAILS, cause_text="A function fails.", backlog=3), {}),
     (Verdict(Kind.POISONED, cause=Cause.HANDLERS_FAIL, backlog=3), {"failing_since": NOW}),
     (Verdict(Kind.STALLED, cause=Cause.MAPPING_STOPPED, backlog=3), {})],
)  # fmt: skip
@pytest.mark.parametrize("kind", ["mapping_fails", "mapping_stopped"])
def test_a_queue_and_its_failing_mapping_are_one_row(verdict: Verdict, known: dict[str, Any], kind: str) -> None:
    """The mapping's row names the queue's state. Other queues, and dead letters of the same queue, keep their rows."""
    mapping = describe_late_work(LateWorkRow(kind, "f", 9, NOW, "boom", "7", "q"))
    queues = [judged("q", verdict, dead_letters=True, **known), judged("q to f", verdict), judged("p", verdict)]
    found = find_concerns(queues, [mapping])
    assert sorted((one.kind, one.name) for one in found) == sorted(
        [(kind, "q to f"), ("dead_letters", "q"), (verdict.kind, "p"), (verdict.kind, "q to f")]
    )
    (row,) = (one for one in found if one.kind == kind)
    state = "" if verdict.cause is Cause.FUNCTION_FAILS else f"The queue is {verdict.kind}: "
    assert row.text.endswith(f"boom. {state}3 messages can be received.")
    assert ("q", verdict.kind) in [(one.name, one.kind) for one in row.includes]
    assert mapping.text.endswith("boom.")  # Requests share the concern, so it must not change.


def test_a_queue_that_waits_for_another_reason_keeps_its_row() -> None:
    mapping = describe_late_work(LateWorkRow("mapping_fails", "f", 9, NOW, "boom", "7", "q"))
    queue = judged("q", Verdict(Kind.STALLED, cause=Cause.NOBODY_RECEIVES, backlog=3))
    assert {one.kind for one in find_concerns([queue], [mapping])} == {"stalled", "mapping_fails"}


def test_messages_that_return_lead_to_the_mapping_that_fails() -> None:
    verdict = Verdict(Kind.POISONED, cause=Cause.HANDLERS_FAIL, backlog=1)
    (found,) = find_concerns([judged("a", verdict, failing_since=NOW)])
    assert found.page == "/console/mappings?queue=a"


@pytest.mark.parametrize(
    ("denied", "hidden"),
    [("ListEventSourceMappings", {"mapping_fails", "mapping_stopped"}),
     ("ListTags", {"mapping_fails", "mapping_stopped"}),
     ("GetSchedule", {"schedules_late", "schedule_fails", "schedule_paused"}),
     ("ListSubscribers", {"subscriber_lags", "subscriber_stopped", "subscriber_fails", "subscriber_drops"}),
     ("GetMetrics", {"old_transaction", "old_snapshot"}),
     ("", set())],
)  # fmt: skip
def test_a_caller_sees_no_concern_about_what_the_caller_may_not_read(
    monkeypatch: pytest.MonkeyPatch, denied: str, hidden: set[str]
) -> None:
    monkeypatch.setattr(attention, "is_user_allowed", lambda _service, action, *_: action != denied)
    context: Any = SimpleNamespace(account_id="000000000000", region="us-east-1")
    assert attention.find_hidden(context) == hidden


def test_more_queues_than_are_shown() -> None:
    shown = [queue(f"q{n}", Kind.STALLED) for n in range(50)]
    text = "".join(build_now_section(ReportState(NOW, NOW, Counter({Kind.STALLED: 61}), shown)))
    assert "11 more queues" in text


@pytest.mark.parametrize(
    ("measured_at", "said"), [(None, "never measured"), (NOW - 3 * MINUTE, "last at 17:37 UTC"), (NOW - MINUTE, "")]
)
def test_a_service_that_does_not_measure(measured_at: datetime | None, said: str) -> None:
    text = "".join(build_now_section(ReportState(NOW, measured_at, Counter({Kind.IDLE: 2}))))
    assert (said or "needs attention") in text
    assert ("measured. The service does not run" in text) == bool(said)


def test_names_are_cut_by_the_page_and_not_by_us() -> None:
    name = f"<{'n' * 78}>"
    text = page(queue(name, Kind.STALLED))
    assert f'title="&lt;{"n" * 78}&gt;"' in text
    assert "text-overflow: ellipsis" in STYLE.read_text()


# --- charts ----------------------------------------------------------------------------------------------------------
def test_the_beginning_is_marked() -> None:
    shown = pictures("".join(build_last_hours([queue("orders", Kind.STALLED, busy())])))
    waiting = shown["Waiting in orders: at most 100, 100 at the end"]
    (band,) = of_class(waiting, "since")
    assert band.findtext("title") == "since 2026-11-26 17:30 UTC"
    flow = shown["Arrived and done, each minute in orders: at most 60, 60 and 30 at the end"]
    assert [len(of_class(flow, name)) for name in ("first", "second", "mark")] == [1, 1, 1]


def test_a_beginning_before_the_chart_is_a_word() -> None:
    text = "".join(build_last_hours([queue("orders", Kind.STALLED, busy(), since=NOW - timedelta(hours=4))]))
    assert "before these charts begin" in text
    assert not [band for picture in pictures(text).values() for band in of_class(picture, "since")]


@pytest.mark.parametrize(
    ("kind", "shown"),
    [(Kind.POISONED, "Received again, each minute"), (Kind.THROTTLED, "In flight"), (Kind.DRAINING, "Waiting")],
)
def test_the_relevant_chart_is_shown(kind: Kind, shown: str) -> None:
    text = "".join(build_last_hours([queue("orders", kind, busy(redelivered=7, in_flight=9))]))
    assert next(iter(pictures(text))).startswith(f"{shown} in orders")


def test_no_chart_of_a_dot_or_of_nothing() -> None:
    assert "".join(build_last_hours([queue("orders", Kind.STALLED, busy(minutes=1))])) == ""
    rests = busy(sent=0, received=0, deleted=0)
    text = "".join(build_last_hours([queue("orders", Kind.STALLED, rests)]))
    assert list(pictures(text)) == ["Waiting in orders: at most 100, 100 at the end"]
    assert "No messages in this time." in text


# --- advice, style ---------------------------------------------------------------------------------------------------
def test_each_cause_has_advice_whose_page_exists() -> None:
    assert set(BY_CAUSE) == set(Cause)
    for advice in [*BY_CAUSE.values(), *BY_KIND.values()]:
        assert not advice.text.endswith(".")
        if advice.page:
            place, _, section = advice.page.removeprefix("/docs/").partition("/#")
            page = (DOCS / f"{place.strip('/')}.md").read_text()
            titles = re.findall(r"^#+ (.*)$", page, re.MULTILINE)
            assert section in {"", *(title.lower().replace(" ", "-") for title in titles)}


def test_healthy_queues_need_no_advice() -> None:
    assert advice_on(Verdict(Kind.OK)).text == ""


def luminance(colour: str) -> float:
    """Returns the relative luminance (WCAG 2.2)."""
    digits = colour.lstrip("#")
    digits = "".join(2 * digit for digit in digits) if len(digits) == 3 else digits
    parts = [int(digits[n : n + 2], 16) / 255 for n in (0, 2, 4)]
    red, green, blue = (part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def contrast(one: str, other: str) -> float:
    """Returns the contrast ratio (WCAG 2.2)."""
    low, high = sorted((luminance(one), luminance(other)))
    return (high + 0.05) / (low + 0.05)


def test_texts_have_enough_contrast_in_both_themes() -> None:
    style = STYLE.read_text()
    light, dark = (
        dict(re.findall(r"--([a-z]+): (#[0-9a-f]+)", part))
        for part in style.partition("prefers-color-scheme: dark")[::2]
    )
    for colours in (light, dark):
        for text, ground in (("text", "page"), ("quiet", "page"), ("text", "notice")):
            assert contrast(colours[text], colours[ground]) >= 4.5
        for line, ground in (("first", "page"), ("second", "page"), ("first", "since"), ("bad", "page")):
            assert contrast(colours[line], colours[ground]) >= 3
    badges = dict(re.findall(r"\.badge\.(\w+) \{ background: (#\w+)", style))
    white = re.findall(r"\.badge\.(\w+)(?:, \.badge\.(\w+))? \{ background: (#\w+); color: #fff", style)
    assert all(contrast("#fff", ground) >= 4.5 for *_, ground in white)
    light_ones = set(badges.values()) - {ground for *_, ground in white}
    assert all(contrast("#1c2126", ground) >= 4.5 for ground in light_ones)
