"""Cleans the database; a schedule invokes it every minute."""

from penstock.lambda_runtime.scheduled import statement_handler
from penstock.workers import maintain

handler = statement_handler(maintain)
