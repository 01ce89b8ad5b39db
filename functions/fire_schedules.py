"""Fires schedules; a schedule invokes it every minute, and it runs on for schedules that are due within that minute."""

from penstock.lambda_runtime.scheduled import transaction_handler
from penstock.workers import fire

handler = transaction_handler(fire)
