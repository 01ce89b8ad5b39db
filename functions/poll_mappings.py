"""Polls for event source mappings. Runs every minute on a schedule, and polls until the next invocation."""

from penstock.lambda_runtime.polling import make_mappings_handler

handler = make_mappings_handler()
