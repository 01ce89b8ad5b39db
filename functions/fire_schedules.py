"""Fires schedules; a schedule invokes it every minute, and it stays for what is due within that minute."""

from penstock.lambda_runtime.scheduled import scheduled_handler
from penstock.workers import fire

handler = scheduled_handler(fire)
