"""Delivers the events of buses. Runs every minute on a schedule, and polls until the next invocation."""

from penstock.lambda_runtime.scheduled import build_polling_handler
from penstock.workers import events

handler = build_polling_handler(events)
