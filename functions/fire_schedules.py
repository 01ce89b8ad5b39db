"""Fires schedules; a schedule invokes it every minute, and it stays for what is due within that minute."""

from penstock.lambda_runtime.scheduled import transaction_handler
from penstock.workers import fire

handler = transaction_handler(fire)
