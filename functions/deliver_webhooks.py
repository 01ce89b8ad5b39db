"""Delivers webhooks; a schedule invokes it every minute."""

from penstock.lambda_runtime.scheduled import scheduled_handler
from penstock.workers import deliver

handler = scheduled_handler(deliver)
