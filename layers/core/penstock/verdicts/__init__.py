"""Judges a queue by its minutes. A verdict says whether the queue keeps up, when and why it began to fall behind, and
when it will be empty.

The functions are pure, because they use rows of queue.minute, but neither a database nor a clock.
docs/reference/verdicts.md lists the rules in order.

`judge(minutes, facts, now)` returns the verdict.
"""

from .types import Cause, Emptying, Facts, Gauges, Kind, Minute, Verdict
from .verdict import TARGET_LAG_SECONDS, is_asking_for_more, judge

__all__ = [
    "TARGET_LAG_SECONDS",
    "Cause",
    "Emptying",
    "Facts",
    "Gauges",
    "Kind",
    "Minute",
    "Verdict",
    "is_asking_for_more",
    "judge",
]
