"""A verdict for each queue from its minutes: is it keeping up, since when not, why, and when will it be empty?

Pure functions of rows of queue.minute: no database, no clock. docs/verdicts.md has the rules in the order in which they
are asked.

    types.py    what goes in (Minute, Facts) and what comes out (Verdict)

`judge(minutes, facts, now)` gives the verdict.
"""

from .types import Cause, Emptying, Facts, Gauges, Kind, Minute, Verdict

__all__ = ["Cause", "Emptying", "Facts", "Gauges", "Kind", "Minute", "Verdict"]
