"""Delivers outgoing messages. Runs every minute on a schedule, and polls until the next invocation."""

from penstock.lambda_runtime.scheduled import make_polling_handler
from penstock.workers import deliver

handler = make_polling_handler(deliver)
