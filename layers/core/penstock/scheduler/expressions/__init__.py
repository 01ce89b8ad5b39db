"""Schedules: when they fire. Pure: no database, no clock, no environment.

expression.py    an expression of any form: parsed, stored, evaluated, described. What the others here are for
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
description.py   the text for people, by cron-descriptor
invalid.py       errors: where, what to write instead, examples

And how they fire, for the worker `penstock.workers.fire`:

firing.py        which occurrences of a schedule that is due fire now, and when it is due again. Pure
store.py         a batch in the database: claimed, planned and fired in one transaction
letters.py       messages for topics of SNS, signed
"""

SCHEDULES = "schedules"
"""What NOTIFY calls the schedules in place of a queue's ARN (see queue.wake_schedules)."""
