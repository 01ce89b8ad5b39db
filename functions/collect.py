"""Reports how much the queues hold; a schedule invokes it every minute."""

from penstock.lambda_runtime.scheduled import reporting_handler
from penstock.workers import collect

handler = reporting_handler(collect)
