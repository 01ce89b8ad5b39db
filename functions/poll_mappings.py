"""Polls for event source mappings. A schedule invokes it every minute, and it polls until the next invocation."""

from penstock.lambda_runtime.polling import make_mappings_handler

handler = make_mappings_handler()
