"""The worker `poll` receives messages for event source mappings, and invokes their functions.

poller          which mappings this process polls for mapping_poller  receives batches of one mapping one after another,
and invokes its function concurrently invocation_slots  limits the concurrent invocations of a process hold
keeps messages invisible while a URL handles them back_off        the pause after failures service         the interface
between the worker and its process

`penstock_web/workers/polling.py` runs the worker in the container, and `lambda_runtime/polling.py` runs it in a
function.
"""
