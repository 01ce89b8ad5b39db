"""Cleans the database; a schedule invokes it every minute."""

from penstock.lambda_runtime.scheduled import calling_handler
from penstock.workers import maintain

handler = calling_handler(maintain)
