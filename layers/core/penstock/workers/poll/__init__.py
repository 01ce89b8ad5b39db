"""The worker `poll`: receives for event source mappings, and invokes their functions.

poller          which mappings this process polls for
mapping_poller  batches of one mapping, one after another, and invocations of them at once
places          invocations at once of a process
hold            messages stay invisible while a URL handles them
back_off        the pause after failures
service         what the worker needs of its process

`penstock_web/workers/polling.py` runs it in the container, `lambda_runtime/polling.py` in a function.
"""
