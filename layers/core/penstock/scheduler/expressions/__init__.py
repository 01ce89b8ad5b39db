"""Schedule expressions: when schedules fire. Pure: no database, no clock, no environment.

expression.py    an expression of any form: parsed, stored, evaluated, described. Callers use this module
cron.py          `*/5 * * * *`, seconds first of six; and AWS's `cron(0 12 * * ? *)`
fields.py        one field of a cron expression to the values it names
days.py          day-of-month and day-of-week, with L, W and #, to the days of a month
next_time.py     the next local time of a cron expression, by croniter
zones.py         local times to instants: one that does not exist is skipped, one that occurs twice fires once
every.py         `30s`, `5m`, `6h`, `1d`, to cron
when.py          `every weekday at 9am`, to cron
clock_time.py    the `9am` in it
moments.py       `fire_at`, and AWS's `at(2022-11-20T13:00:00)`
rate.py          AWS's `rate(5 minutes)`
description.py   the English description, by cron-descriptor
invalid.py       errors: their place, a suggestion, examples

The package `penstock.scheduler.firing` fires schedules by them.
"""

SCHEDULES = "schedules"
"""The name of the schedules in NOTIFY, where queues have their ARN (see queue.wake_schedules)."""
