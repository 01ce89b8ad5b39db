"""Delivery of messages to endpoints outside the service: to URLs, to the gateway, to functions and by e-mail.

    carrier.py    what carries deliveries: the interface
    delivery.py   a delivery, as a worker holds it
    outcome.py    the outcome of an attempt: delivered, retried in n seconds, given up
    store.py      deliveries in the database: claimed, settled, expired
    run.py        one run of the worker: claims, has them carried, writes outcomes
    traces.py     attempts as spans
    http/ mail/ functions/   the carriers

The worker that uses them all is `penstock.workers.deliver`. It alone names the carriers; the modules here import none.
"""

from typing import Final

DELIVERIES: Final = "deliveries"
"""The name of the deliveries in `Wake` and NOTIFY, where queues have their ARN (see queue.wake_deliveries)."""
