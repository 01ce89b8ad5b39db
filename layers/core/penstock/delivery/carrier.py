"""The interface of carriers, for URLs, the gateway, e-mail and functions.

    claim     Store.claim leases due deliveries, so that no other worker has them
    render    the carrier converts a delivery into the form of its protocol
    carry     the carrier sends it within the time limit of an attempt
    settle    Store.settle writes the outcome: delivered, retried after a while, given up (dead letter, or kept)

All carriers share claims, retries, pauses of failing endpoints, dead letters and the history. A carrier only knows its
protocol. `DeliveryRun` chooses the carrier by the kind of a delivery.
"""

from typing import Final, Protocol

from .delivery import Delivery
from .outcome import NOT_ATTEMPTED, SHOWS_NOTHING, Outcome

ATTEMPT_SECONDS: Final = 15.0
"""The longest time of an attempt, including the connection. This time is half of a delivery's lease.

AWS gives an endpoint of a topic the same time ("the connection will time out in 15 seconds").
"""


class Carrier(Protocol):
    """Carries deliveries of one or several kinds."""

    async def carry(self, delivery: Delivery, /) -> Outcome:
        """Makes one attempt. The method raises no errors: an error is an outcome."""

    def find_server(self, delivery: Delivery, /) -> tuple[str, int] | None:
        """Returns host and port of the endpoint for the span, or None if the endpoint is not a URL."""


class NoCarrier:
    """Leaves deliveries to processes that have the right carrier. The deliveries lose no attempt."""

    async def carry(self, _delivery: Delivery, /) -> Outcome:
        """Sends no request. The delivery is due again after a minute."""
        return Outcome(NOT_ATTEMPTED, "no carrier is set for it", 60_000, SHOWS_NOTHING)

    def find_server(self, _delivery: Delivery, /) -> None:
        """Returns None, since this process cannot carry the delivery."""


NO_CARRIER: Final = NoCarrier()
