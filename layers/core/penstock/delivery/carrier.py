"""The interface of carriers for URLs, the gateway, e-mail and functions.

`DeliveryStore.claim` leases due deliveries of the process's carriers, so that no other worker sends the deliveries. The
carrier sends a delivery within the time limit of an attempt. `DeliveryStore.settle` writes the outcome, which is
delivered, retried later, or given up.

All carriers share the code for claims, retries, pauses of failing endpoints, dead letters and the history. A carrier
implements only its protocol. `DeliveryRun` chooses the carrier by the delivery's kind.
"""

from typing import Final, Protocol

from .delivery import Delivery
from .outcome import Outcome

ATTEMPT_SECONDS: Final = 15.0
"""The time limit of an attempt, including the connection: half of a delivery's lease.

AWS has the same time limit for a topic's endpoint ("the connection will time out in 15 seconds").
"""


class Carrier(Protocol):
    """Sends deliveries of one or more kinds."""

    async def carry(self, delivery: Delivery, /) -> Outcome:
        """Makes one attempt. Returns errors as outcomes and never raises an error."""

    def find_server(self, delivery: Delivery, /) -> tuple[str, int] | None:
        """Returns the endpoint's host and port for the span, or None if the endpoint is not a URL."""
