"""Reports the number of messages in the queues as metrics. Runs every minute on a schedule."""

from penstock.lambda_runtime.scheduled import build_reporting_handler
from penstock.workers import measure

handler = build_reporting_handler(measure)
