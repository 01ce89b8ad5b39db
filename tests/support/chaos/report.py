"""What a run says of itself on the terminal."""

from __future__ import annotations

import sys

from tests.support.chaos.campaign import Report


def say(text: str) -> None:
    """At once: the output of a run that was cut off says what happened last."""
    sys.stdout.write(f"{text}\n")
    sys.stdout.flush()


def show(report: Report) -> None:
    """A table of recoveries, and the findings."""
    say(f"{report.acknowledged} acknowledged, {report.deliveries} delivered, faults {report.faults}")
    say(f"{'':36}times   half in  all in (s)   schedules half in  all in")
    for name, times in sorted(report.recovery.items()):
        half, worst = sorted(times)[len(times) // 2], max(times)
        fires = sorted(report.background[name])
        say(f"{name:36}{len(times):5}{half:10.2f}{worst:8.2f}{fires[len(fires) // 2]:25.2f}{fires[-1]:8.2f}")
    say(f"{report.tally}")
    for detail in report.details:
        say(detail)
    say(f"excused {report.excused}, violations {report.violations}, errors {report.errors}")
