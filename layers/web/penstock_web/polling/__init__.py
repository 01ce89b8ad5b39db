"""The worker `poll`: receives for event source mappings, and invokes their functions.

poller          which mappings this process polls for
mapping_poller  batches of one mapping, one after another, and invocations of them at once
back_off        the pause after failures
"""
