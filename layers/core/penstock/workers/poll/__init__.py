"""Receives messages for event source mappings, and invokes their functions.

`penstock_web/workers/polling.py` runs the worker in the container, and `lambda_runtime/polling.py` runs it in a
function.
"""
