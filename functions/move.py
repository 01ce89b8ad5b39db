"""Moves messages for message move tasks; a schedule invokes it every minute."""

from penstock.lambda_runtime.scheduled import scheduled_handler
from penstock.workers import move

handler = scheduled_handler(move)
