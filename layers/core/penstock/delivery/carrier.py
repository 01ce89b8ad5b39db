"""What carries deliveries: one interface for URLs and gateways, and for carriers to come, such as e-mail.

    claim     Store.claim leases deliveries that are due, so that no other worker has them
    render    the carrier makes of a delivery what its protocol sends
    carry     the carrier sends it, within the time that an attempt may take
    settle    Store.settle writes the outcome: delivered, tried again after a while, given up (dead letter, or kept)

Claiming, retries, pauses of endpoints that fail, dead letters and the history are the same for all; a carrier only
knows its protocol. `DeliveryRun` chooses the carrier by the kind of a delivery.
"""

from typing import Protocol

from .webhooks.outcome import Outcome
from .webhooks.request import Delivery


class Carrier(Protocol):
    """Carries deliveries of one or several kinds."""

    async def carry(self, delivery: Delivery) -> Outcome:
        """One attempt. Raises nothing: an error is an outcome."""
