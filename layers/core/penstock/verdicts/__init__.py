"""Judges a queue by its minutes: whether the queue keeps up, when and why it began to fall behind, and when it will be
empty.

The functions are pure functions of rows of queue.minute, and use neither a database nor a clock.
docs/reference/verdicts.md lists the rules in order.

    types.py      the input (Minute, Facts) and the output (Verdict)
    verdict.py    `judge` and the rules, in their order
    series.py     the minutes without gaps
    rates.py      how fast messages come and go
    backlog.py    whether the backlog grows or shrinks, and since when
    stalls.py     whether receives are missing, and how long a wait is usual
    poison.py     whether messages are received again and again
    drain.py      when the backlog will be gone
    causes.py     why the backlog grows
    words.py      causes in plain English

`judge(minutes, facts, now)` gives the verdict.
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
