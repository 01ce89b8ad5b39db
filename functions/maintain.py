"""Cleans the database; a schedule invokes it every minute."""

from penstock.scheduled import scheduled_handler
from penstock.workers import maintain

handler = scheduled_handler(maintain)
