"""Moves messages for message move tasks. Runs every minute on a schedule, and polls until the next invocation."""

from penstock.lambda_runtime.scheduled import build_polling_handler
from penstock.workers import move

handler = build_polling_handler(move)
