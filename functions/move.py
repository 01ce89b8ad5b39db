"""Moves messages for message move tasks; a schedule invokes it every minute."""

from penstock.lambda_runtime.scheduled import transaction_handler
from penstock.workers import move

handler = transaction_handler(move)
