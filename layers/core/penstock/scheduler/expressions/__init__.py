"""Parses and evaluates schedule expressions, which determine when schedules fire.

The functions are pure, because they use no database, clock or environment. Callers use `expression.py`.

The package `penstock.scheduler.firing` fires schedules.
"""

SCHEDULES = "schedules"
"""The name that NOTIFY has for schedules, in place of a queue's ARN (queue.wake_schedules)."""
