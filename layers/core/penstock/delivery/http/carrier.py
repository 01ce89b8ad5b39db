"""The carrier of HTTP, which posts to subscribed URLs or to the installation's gateway."""

import logging
from collections.abc import Sequence
from time import monotonic, time

from penstock.delivery.carrier import ATTEMPT_SECONDS
from penstock.delivery.delivery import ALERT, Delivery
from penstock.delivery.outcome import Outcome
from penstock.endpoint import EndpointInvalid, EndpointRefused, fill_in_password, parse_endpoint

from .alert import address_alert
from .challenge import UNAUTHORIZED, respond_to_challenge
from .outcome import judge_failure, judge_response
from .request import SIGNED, request_bytes
from .resolver import ResolverBusyError
from .sender import Sender

_log = logging.getLogger(__name__)


class HttpCarrier:
    """Posts deliveries. `signed_seconds` is the time limit of events and gateways.

    `url` is the gateway's address, or None if each delivery goes to the delivery's URL.
    """

    def __init__(self, sender: Sender, secrets: Sequence[bytes], signed_seconds: float, url: str | None = None) -> None:
        self._sender = sender
        self._secrets = secrets
        self._signed_seconds = signed_seconds
        self._url = url

    async def carry(self, delivery: Delivery) -> Outcome:
        seconds = self._signed_seconds if delivery.kind in SIGNED else ATTEMPT_SECONDS
        outcome, sent_bytes, start = await self._post(delivery, seconds)
        return outcome._replace(sent_bytes=sent_bytes, response=None if start is None else _decode_text(start))

    def find_server(self, delivery: Delivery) -> tuple[str, int] | None:
        """Returns the server of the subscribed URL."""
        try:
            endpoint = parse_endpoint(delivery.endpoint)
        except EndpointRefused:
            return None
        return endpoint.host, endpoint.port

    async def _post(self, delivery: Delivery, seconds: float) -> tuple[Outcome, int | None, bytes | None]:
        request = None
        if delivery.endpoint.startswith("arn:"):  # a queue that could not take a topic's message (queue.fan_out)
            error = EndpointInvalid("the queue does not exist, or cannot take the message")
            return judge_failure(delivery, error), None, None
        try:
            if delivery.kind == ALERT:
                delivery, url = address_alert(delivery)
            else:
                url = self._url or delivery.endpoint
            endpoint = parse_endpoint(url)
            request = request_bytes(delivery, endpoint, self._secrets, int(time()))
            end = monotonic() + seconds
            response = await self._sender.post(endpoint, request, seconds, delivery.account_id)
            credentials = fill_in_password(endpoint, delivery.password)
            if response.status == UNAUTHORIZED and credentials is not None:
                header = respond_to_challenge(endpoint, credentials, response.challenges)
                if header is not None:
                    request = request_bytes(delivery, endpoint, self._secrets, int(time()), header)
                    seconds_left = max(0.0, end - monotonic())
                    response = await self._sender.post(endpoint, request, seconds_left, delivery.account_id)
            return judge_response(delivery, response.status), len(request), response.start
        except TimeoutError as error:
            outcome = judge_failure(delivery, TimeoutError(str(error) or f"no response within {seconds:g} s"))
        except (EndpointRefused, OSError) as error:
            outcome = self._report_unreached(delivery, error)
        except Exception as error:  # noqa: BLE001 - one delivery must not end the run of the others
            _log.exception("delivery failed", exc_info=error, extra={"delivery": delivery.delivery_id})
            outcome = self._report_unreached(delivery, error)
        return outcome, None if request is None else len(request), None

    def _report_unreached(self, delivery: Delivery, error: Exception) -> Outcome:
        if self._url is None or isinstance(error, ResolverBusyError):
            return judge_failure(delivery, error)
        # The account reads the outcome, which must not reveal names inside the network.
        _log.warning("the SNS gateway cannot be reached", extra={"delivery": delivery.delivery_id, "cause": str(error)})
        return judge_failure(delivery, ConnectionError("the gateway cannot be reached"))


def _decode_text(start: bytes) -> str:
    """Decodes a text. U+FFFD replaces invalid bytes and characters that are not printable, such as NUL, which the
    database cannot store, and controls of terminals. Line breaks and tabs stay.
    """
    return "".join(
        char if char.isprintable() or char in "\r\n\t" else "\ufffd" for char in start.decode(errors="replace")
    )
