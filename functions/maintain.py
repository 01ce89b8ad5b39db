"""Cleans the database. Runs every minute on a schedule."""

from penstock.lambda_runtime.scheduled import build_statement_handler
from penstock.workers import maintain

handler = build_statement_handler(maintain)
