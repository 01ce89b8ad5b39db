"""Delivers messages to endpoints outside the service: URLs, the gateway, functions and e-mail addresses.

Only the worker `penstock.workers.deliver` imports the carriers in `http`, `mail` and `functions`.
"""

from typing import Final

DELIVERIES: Final = "deliveries"
"""The name of deliveries in `Wake` and NOTIFY, in place of a queue's ARN (queue.wake_deliveries)."""
