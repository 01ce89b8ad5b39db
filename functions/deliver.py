"""Delivers outgoing messages. Runs every minute on a schedule, and polls until the next invocation."""

from penstock.lambda_runtime.scheduled import build_polling_handler
from penstock.workers import deliver

handler = build_polling_handler(deliver)
