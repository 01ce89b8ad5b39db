"""Delivers webhooks; a schedule invokes it every minute."""

from penstock.lambda_runtime.scheduled import transaction_handler
from penstock.workers import deliver

handler = transaction_handler(deliver)
