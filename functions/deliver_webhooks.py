"""Delivers webhooks; a schedule invokes it every minute."""

from penstock.scheduled import scheduled_handler
from penstock.workers import deliver

handler = scheduled_handler(deliver)
