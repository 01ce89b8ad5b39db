"""Writes the report's first screen, which shows the queues' current state."""

from collections.abc import Iterator, Sequence
from datetime import timedelta
from html import escape

from penstock.management.attention.concerns import Concern
from penstock.management.verdicts import QUEUE_LEVELS, find_level
from penstock.verdicts import TARGET_LAG_SECONDS, Kind
from penstock.verdicts.words import name_kind, name_state

from .advice import advice_on, explain_verdict
from .formats import ABSENT, between, clock, count, plural, rate
from .state import MAX_TROUBLED, RATE_MINUTES, QueueState, ReportState
from .svg import clip_name, small

MAX_LISTED = 10
UNMEASURED = timedelta(minutes=2)
UNMEASURED_ALONE = timedelta(minutes=10)
"""The maximum age of the measurement if the report covers only one queue. The service measures queues with activity
every ten seconds, and all other queues less often.
"""
_COLUMNS = ("Verdict", "Queue", "Since", "Why", "Waiting", "Oldest", "In /s", "Out /s", "Empty at", "What to do")
_NUMBERS = ("Waiting", "Oldest", "In /s", "Out /s")


# --- the first screen ------------------------------------------------------------------------------------------------
def build_now_section(state: ReportState) -> Iterator[str]:
    """Yields the queues in trouble. Shows when the trouble began, its cause, when the queue will be empty, and a
    remedy.
    """
    if state.read_at is None:
        yield '<p class="summary">There are no queues.</p>'
        return
    yield _summary(state)
    yield from _not_measured(state)
    if state.shown:
        yield from _table(state)
    yield from _list_concerns(state, "Messages that expire", sorted(state.losses, key=lambda concern: -concern.number))
    yield from _list_concerns(state, "Deliveries, schedules and database", state.others)
    yield from _healthy(state)


def _summary(state: ReportState) -> str:
    bad = sum(state.counts[kind] for kind in QUEUE_LEVELS)
    of_all = f"of {plural(state.counts.total(), 'queue')}"
    recovers = f" {state.counts[Kind.DRAINING]:,} draining." if state.counts[Kind.DRAINING] else ""
    if not bad:
        return f'<p class="summary"><strong>None {of_all} needs attention.</strong>{recovers}</p>'
    kinds = ", ".join(f"{state.counts[kind]:,} {name_kind(kind)}" for kind in QUEUE_LEVELS if state.counts[kind])
    verb = "needs" if bad == 1 else "need"
    return f'<p class="summary bad"><strong>{bad:,} {of_all} {verb} attention</strong>: {kinds}.{recovers}</p>'


def _not_measured(state: ReportState) -> Iterator[str]:
    """Yields a warning if the measurements are old."""
    at = state.read_at
    most = UNMEASURED if state.counts.total() > 1 else UNMEASURED_ALONE
    if at is None or (state.measured_at is not None and at - state.measured_at <= most):
        return
    when = "never" if state.measured_at is None else f"last at {clock(state.measured_at, at)} UTC"
    yield f'<p class="notice">The queues were {when} measured. The service does not run, or has just started. The'
    yield " figures below are old.</p>"


def _table(state: ReportState) -> Iterator[str]:
    heads = "".join(f'<th scope="col" role="columnheader"{_choose_class(column)}>{column}</th>' for column in _COLUMNS)
    yield '<table class="state" role="table"><caption>The worst queue is first. Times are in UTC. Rates are messages'
    yield f" per second over {RATE_MINUTES} minutes. The suggested numbers of consumers are for waits of"
    yield f" at most {TARGET_LAG_SECONDS // 60} minutes."
    yield " Paths lead to pages of Penstock's documentation.</caption>"
    yield f'<thead role="rowgroup"><tr role="row">{heads}</tr></thead>'
    yield '<tbody role="rowgroup">'
    yield from (_row(queue) for queue in state.shown)
    yield "</tbody></table>"
    if state.troubled > MAX_TROUBLED:
        yield f'<p class="quiet">{plural(state.troubled - MAX_TROUBLED, "more queue")}: '
        yield "<code>penstock metrics lag --limit 1000</code></p>"


def _choose_class(column: str) -> str:
    return ' class="number"' if column in _NUMBERS else ""


def _row(queue: QueueState) -> str:
    verdict, now = queue.verdict, queue.facts.read_at
    rates = queue.rates or (None, None)
    in_flight = queue.series.now.in_flight if queue.series else 0
    cells = (
        f'<span class="badge {find_level(verdict) or verdict.kind}">{name_state(verdict.kind, verdict.cause)}</span>',
        clip_name(queue.name), _since(queue), _why(queue),
        count(verdict.backlog) + small(f"{count(in_flight)} in flight" if in_flight else ""),
        ABSENT if queue.oldest_at is None else between(queue.oldest_at, now),
        rate(rates[0]), rate(rates[1]), _empty_at(queue), _what_to_do(queue),
    )  # fmt: skip
    return f'<tr role="row">{"".join(map(_cell, _COLUMNS, cells))}</tr>'


def _cell(column: str, content: str) -> str:
    if column == "Queue":
        return f'<th scope="row" role="rowheader" data-label="Queue">{content}</th>'
    return f'<td role="cell" data-label="{column}"{_choose_class(column)}>{content}</td>'


def _since(queue: QueueState) -> str:
    since, now = queue.verdict.since, queue.facts.read_at
    if since is None:
        return ABSENT
    before = "before " if queue.verdict.since_or_before else ""
    return f"{before}{clock(since, now)}{small(between(since, now))}"


def _why(queue: QueueState) -> str:
    facts, verdict = queue.facts, queue.verdict
    more = []
    if facts.noisy_groups:
        more.append(f"{plural(facts.noisy_groups, 'noisy group')}")
    if verdict.cause == "one_group" and facts.top_group_share:
        more.append(f"the busiest group has {100 * facts.top_group_share:.0f} % of the messages")
    return escape(explain_verdict(verdict)) + small("; ".join(more))


def _empty_at(queue: QueueState) -> str:
    verdict, now = queue.verdict, queue.facts.read_at
    if verdict.empties is not None:
        empties = verdict.empties
        last = "or never" if empties.high is None else f"to {clock(empties.high, now)}"
        return clock(empties.at, now) + small(f"{clock(empties.low, now)} {last}")
    if verdict.kind is Kind.STALLED:
        return "no receives"
    return "not at these rates" if verdict.kind is Kind.FALLING_BEHIND else ABSENT


def _what_to_do(queue: QueueState) -> str:
    advice = advice_on(queue.verdict)
    return escape(advice.text) + small(f"<code>{escape(advice.page)}</code>" if advice.page else "")


# --- below the table -------------------------------------------------------------------------------------------------
def _list_concerns(state: ReportState, heading: str, concerns: Sequence[Concern]) -> Iterator[str]:
    """Yields a list of concerns."""
    if not concerns or state.read_at is None:
        return
    yield f"<h2>{heading}</h2><ul>"
    for concern in concerns[:MAX_LISTED]:
        since = "" if concern.since is None else f" since {clock(concern.since, state.read_at)}"
        yield f"<li>{clip_name(concern.name)}{since}: {escape(concern.text)}</li>"
    if rest := len(concerns) - MAX_LISTED:
        yield f"<li>{rest:,} more: <code>penstock status</code></li>" if rest > 0 else ""
    yield "</ul>"


def _healthy(state: ReportState) -> Iterator[str]:
    if not state.number_healthy or len(state.shown) == state.counts.total():
        return
    texts = {Kind.OK: ("keeps up", "keep up"), Kind.IDLE: ("is idle", "are idle")}
    counts = [
        f"{number:,} {several if number > 1 else single}"
        for kind, (single, several) in texts.items()
        if (number := state.counts[kind])
    ]
    yield f'<details><summary>Healthy queues: {", ".join(counts)}</summary><ul class="names">'
    yield from (f"<li>{clip_name(name)} {name_state(kind)}</li>" for name, kind in state.healthy)
    if rest := state.number_healthy - len(state.healthy):
        yield f"<li>{rest:,} more</li>"
    yield "</ul></details>"
