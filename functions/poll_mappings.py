"""Polls for event source mappings. Runs every minute on a schedule, and polls until the next invocation."""

from penstock.lambda_runtime.polling import build_mappings_handler

handler = build_mappings_handler()
