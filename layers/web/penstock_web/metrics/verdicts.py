"""Computes verdicts on queues for /metrics, at most every ten seconds."""

import asyncio
from collections.abc import Callable, Iterator, Sequence
from datetime import timedelta
from typing import Final, NamedTuple

from penstock.management.verdicts import (
    KEPT,
    RECENT,
    ask_for_more,
    compute_each_verdict,
    find_span_before,
    group_by_queue,
    split_parts,
)
from penstock.postgres.statements.metrics import READ_MINUTES, READ_VERDICT_FACTS, VerdictFactsRow
from penstock.verdicts import TARGET_LAG_SECONDS, Verdict
from penstock_web.database.calls import ExecuteStatement

from .exposition import FamilySeries, format_labels
from .families import DEAD_LETTER_QUEUE, NEVER_CATCHES_UP, SINCE_RECEIVE, UNTIL_EMPTY, UNTIL_RETENTION, VERDICT

MAX_WAIT_SECONDS: Final = 1.0
FRESH_SECONDS: Final = 10.0


class Judged(NamedTuple):
    """Holds a queue, its verdict, and the facts behind the verdict."""

    arn: str
    verdict: Verdict
    facts: VerdictFactsRow


class VerdictReadings:
    """Reads the minutes of queues and computes verdicts. `in_flight_limit` is the setting QUEUE_IN_FLIGHT_LIMIT."""

    def __init__(self, call: ExecuteStatement, in_flight_limit: int) -> None:
        self._call = call
        self._in_flight_limit = in_flight_limit
        self._task: asyncio.Task[list[Judged]] | None = None
        self._started_at = float("-inf")
        self._last: list[Judged] = []

    async def __call__(self, arns: Sequence[str]) -> list[Judged]:
        """Returns verdicts that are at most ten seconds old. If the computation takes longer than a second, returns the
        previous verdicts.
        """
        loop = asyncio.get_running_loop()
        if self._task is None or (self._task.done() and loop.time() - self._started_at > FRESH_SECONDS):
            self._task = loop.create_task(self._read(arns))
            self._started_at = loop.time()
        await asyncio.wait([self._task], timeout=MAX_WAIT_SECONDS)
        if self._task.done():
            self._last = self._task.result()
        return self._last

    async def _read(self, arns: Sequence[str]) -> list[Judged]:
        try:
            return await self._judge_all(arns)
        except Exception:  # noqa: BLE001 - an alert reports missing verdicts
            return []

    async def _judge_all(self, arns: Sequence[str]) -> list[Judged]:
        found: dict[str, Judged] = {}
        for part in split_parts(arns, RECENT):
            found |= await self._judge(part, RECENT)
        longer = ask_for_more({arn: judged.verdict for arn, judged in found.items()})
        for part in split_parts(longer, KEPT):
            found |= await self._judge(part, KEPT)
        return list(found.values())

    async def _judge(self, arns: list[str], length: timedelta) -> dict[str, Judged]:
        facts = await self._call(READ_VERDICT_FACTS, [arns])
        if not facts:
            return {}
        rows = await self._call(READ_MINUTES, [arns, *find_span_before(facts[0].read_at, length)])
        known = {row.arn: row for row in facts}
        found = {}
        for arn, verdict in compute_each_verdict(
            facts, group_by_queue(rows), self._in_flight_limit, TARGET_LAG_SECONDS
        ):
            found[arn] = Judged(arn, verdict, known[arn])
            await asyncio.sleep(0)  # The pause lets other requests run.
        return found


def build_verdict_series(verdicts: Sequence[Judged], label: Callable[[str], str]) -> Iterator[FamilySeries]:
    """Yields the series of each family. `label` returns the label for the ARN of a queue. Omits unknown values."""
    named = sorted((label(judged.arn), judged) for judged in verdicts)
    lines = [(format_labels(["queue"], [name]), judged.verdict, judged) for name, judged in named]
    yield (
        VERDICT,
        [(format_labels(["queue", "verdict"], [name, judged.verdict.kind.value]), [1.0]) for name, judged in named],
    )
    yield (
        UNTIL_EMPTY,
        [
            (text, [max(0.0, (verdict.empties.at - judged.facts.read_at).total_seconds())])
            for text, verdict, judged in lines
            if verdict.empties is not None
        ],
    )
    yield (
        SINCE_RECEIVE,
        [
            (text, [verdict.seconds_since_receive])
            for text, verdict, _ in lines
            if verdict.seconds_since_receive is not None
        ],
    )
    yield DEAD_LETTER_QUEUE, [(text, [1.0]) for text, _, judged in lines if judged.facts.dead_letters]
    yield (
        UNTIL_RETENTION,
        [
            (text, [max(0.0, (judged.facts.retention_at - judged.facts.read_at).total_seconds())])
            for text, _, judged in lines
            if judged.facts.retention_at is not None
        ],
    )
    yield NEVER_CATCHES_UP, [(text, [1.0]) for text, _, judged in lines if judged.facts.never_catches_up]
