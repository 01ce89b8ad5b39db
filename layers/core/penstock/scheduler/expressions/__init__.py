"""Schedule expressions determine when schedules fire. The package uses no database, no clock and no environment.

expression.py    an expression of any form: parsed, stored, evaluated, described. Callers use this module cron.py
`*/5 * * * *`, seconds first of six; and AWS's `cron(0 12 * * ? *)` fields.py        converts one field of a cron
expression to the values that it names days.py          converts day-of-month and day-of-week, with L, W and #, to the
days of a month next_time.py     computes the next local time of a cron expression with croniter zones.py
converts local times to instants: skips a missing time, fires once at a time that occurs twice every.py         converts
`30s`, `5m`, `6h`, `1d` to cron when.py          converts `every weekday at 9am` to cron clock_time.py    parses the
`9am` in it moments.py       `fire_at`, and AWS's `at(2022-11-20T13:00:00)` rate.py          AWS's `rate(5 minutes)`
description.py   the English description, by cron-descriptor invalid.py       errors: their position, a suggestion,
examples

The package `penstock.scheduler.firing` fires schedules.
"""

SCHEDULES = "schedules"
"""The name of schedules in NOTIFY, in place of a queue's ARN (queue.wake_schedules)."""
