"""Delivery of messages to endpoints outside the service: to URLs, to the gateway, to functions and by e-mail.

    carrier.py    the interface of carriers
    delivery.py   a delivery that a worker holds
    outcome.py    the outcome of an attempt: delivered, retry in n seconds, given up
    store.py      deliveries in the database: claims, settles and expires them
    run.py        one run of the worker: claims, has them carried, writes outcomes
    traces.py     attempts as spans
    http/ mail/ functions/   the carriers

The worker `penstock.workers.deliver` uses all these modules. Only the worker names the carriers; the modules of this
folder import no carrier.
"""

from typing import Final

DELIVERIES: Final = "deliveries"
"""The name of deliveries in `Wake` and NOTIFY, in place of a queue's ARN (queue.wake_deliveries)."""
