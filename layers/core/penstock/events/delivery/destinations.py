"""Sends batches of events to API destinations.

A batch is one request, with a JSON array of the events. If MaxBatchSize is 1, the body is the event. Events whose
parameters differ, because they have expressions, need a request each. Every status except 2xx is a refusal of all
events of the request. Sources: "Targets" of the custom event bus, "API destinations" (EventBridge User Guide,
https://docs.aws.amazon.com/eventbridge/latest/userguide/eb-api-destinations.html).
"""

import asyncio
import logging
import re
from collections.abc import Sequence
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from time import monotonic
from typing import Final

from penstock.access.secret_encryption import DecryptionError
from penstock.aws.api_destination_arn import find_destination_name
from penstock.delivery.http.connection import Response
from penstock.delivery.http.guard import AddressGuard, read_networks
from penstock.delivery.http.outcome import describe_failure
from penstock.delivery.http.resolver import ResolverBusyError
from penstock.delivery.http.sender import Sender
from penstock.endpoint import EndpointRefused
from penstock.events.connections import AuthParameters, OAuthGrant, ParameterCipher
from penstock.postgres.statements.api_destinations import TurnsRow
from penstock.settings import Settings

from .batches import MAX_BODY, Batch
from .http_requests import (
    CONTENT_TYPE,
    WITHOUT_BODY,
    InvalidRequestError,
    add_members,
    build_credentials,
    build_endpoint,
    build_headers,
    list_headers,
    write_request,
)
from .payloads import Payload, build_payloads, join, list_ready, split_payloads
from .subscriber import INTERNAL_ERROR, Refusal, Result, Waiting
from .tokens import Key, TokenRefusedError, Tokens, build_token_request, read_token
from .transformation import POSTPONED, Transformation

ATTEMPT_SECONDS: Final = 5.0
"""The time limit of a request ("maximum client execution timeout of 5 seconds", API destinations)."""
TOKEN_BYTES: Final = 65_536
UNAUTHORIZED: Final = (401, 407)
CODES: Final = {
    401: "ACCESS_DENIED", 403: "ACCESS_DENIED", 404: "RESOURCE_NOT_FOUND", 407: "ACCESS_DENIED",
    413: "REQUEST_TOO_LARGE", 429: "THROTTLING",
}  # fmt: skip
UNREACHED: Final = "INVOCATION_DEPENDENCY_INTERNAL"
UNREADABLE: Final = Refusal(INTERNAL_ERROR, "The worker cannot decrypt the connection.")

_log = logging.getLogger(__name__)


class DestinationBatches:
    """Sends batches to API destinations in one event loop."""

    def __init__(self, settings: Settings, tokens: Tokens) -> None:
        guard = AddressGuard(read_networks(settings.webhook_allow_cidrs))
        self._transformation = Transformation()
        self._cipher = ParameterCipher(settings.queue_encryption_key)
        self._sender = Sender(guard)
        # Only this process reads the responses of authorization endpoints.
        self._authorizer = Sender(guard, kept_bytes=TOKEN_BYTES, keeps_private=True)
        self._tokens = tokens
        self._asked: dict[Key, asyncio.Task[str]] = {}

    async def close(self) -> None:
        await self._sender.close()
        await self._authorizer.close()

    async def carry(self, batch: Batch) -> list[Result]:
        """Sends the requests of a batch, each at its turn. Of a FIFO subscriber, sends no event of a group after a
        refused one. The events without a turn are put off."""
        destination = batch.destination
        if destination is None:
            missing = f"The API destination {find_destination_name(batch.subscriber.target_arn)} does not exist."
            return [Refusal("RESOURCE_NOT_FOUND", missing)] * len(batch.events)
        row = destination.row
        try:
            parameters = self._cipher.open(bytes(row.sealed_parameters), row.connection_arn, row.account_id)
        except DecryptionError:
            _log.error("QUEUE_ENCRYPTION_KEY cannot decrypt a connection", extra={"connection": row.connection_arn})
            return [UNREADABLE] * len(batch.events)
        payloads = await build_payloads(self._transformation, batch)
        results: list[Result] = [each if isinstance(each, Refusal) else Waiting.UNSENT for each in payloads]
        for number, places in enumerate(split_payloads(payloads, MAX_BODY)[: destination.requests]):
            turn = destination.next_turn_at + number * row.pause_ms / 1000
            ready = list_ready(batch, places, results)
            if ready and max(turn, monotonic()) < batch.sends_until:
                await asyncio.sleep(max(0.0, turn - monotonic()))
                sent = [each for place in ready if isinstance(each := payloads[place], Payload)]
                refusal = await self._send(batch, sent, row, parameters)
                for place in ready:
                    results[place] = refusal
        return [POSTPONED if result is Waiting.UNSENT else result for result in results]

    async def _send(
        self, batch: Batch, payloads: Sequence[Payload], row: TurnsRow, parameters: AuthParameters
    ) -> Refusal | None:
        try:
            response = await self._call(batch, payloads, row, parameters)
        except TokenRefusedError as error:
            return error.refusal
        except InvalidRequestError as error:
            return Refusal("CUSTOMER_VALIDATION", str(error))
        except ResolverBusyError:
            return POSTPONED
        except TimeoutError as error:
            # An error with a text means that no connection was possible.
            late = Refusal("EXECUTION_TIMEOUT", f"The endpoint did not respond within {ATTEMPT_SECONDS:.0f} s.")
            return Refusal(UNREACHED, describe_failure(error)) if error.args else late
        except EndpointRefused as error:
            return Refusal("CUSTOMER_VALIDATION", str(error))
        except OSError as error:
            return Refusal(UNREACHED, describe_failure(error))
        except Exception as error:  # noqa: BLE001 - one batch must not end the others
            _log.exception("events were not sent", exc_info=error, extra={"subscriber": batch.subscriber.arn})
            return Refusal(UNREACHED, "The events were not sent.")
        return judge_response(response)

    async def _call(
        self, batch: Batch, payloads: Sequence[Payload], row: TurnsRow, parameters: AuthParameters
    ) -> Response:
        """Sends a request. If the endpoint refuses a token, sends the request again with a new one, because EventBridge
        refreshes tokens after 401 and 407."""
        given = payloads[0].parameters
        endpoint = build_endpoint(row.invocation_endpoint, given, parameters)
        default, body = dict[str, str](), None
        if row.http_method not in WITHOUT_BODY:
            body = join([add_members(each.text, parameters) for each in payloads], batch).encode()
            default = {"Content-Type": CONTENT_TYPE}

        async def send(token: str | None) -> Response:
            headers = build_headers(default, *list_headers(given, parameters), build_credentials(parameters, token))
            request = write_request(row.http_method, endpoint, headers, body)
            return await self._sender.post(endpoint, request, ATTEMPT_SECONDS, row.account_id)

        if parameters.oauth is None:
            return await send(None)
        key = Key(row.connection_arn, row.revision)
        token = await self._get_token(key, parameters.oauth, row.account_id)
        response = await send(token)
        if response.status not in UNAUTHORIZED:
            return response
        self._tokens.forget(key, token)
        return await send(await self._get_token(key, parameters.oauth, row.account_id))

    async def _get_token(self, key: Key, oauth: OAuthGrant, account_id: str) -> str:
        """Returns the token of a connection. Concurrent requests share a request for a new token, and its error. Raises
        TokenRefusedError, EndpointRefused and OSError."""
        kept = self._tokens.find(key)
        if kept is not None:
            return kept
        task = self._asked.get(key)
        if task is None:
            task = self._asked[key] = asyncio.create_task(self._ask_for_token(key, oauth, account_id))
            task.add_done_callback(lambda _: self._asked.pop(key, None))
        return await asyncio.shield(task)

    async def _ask_for_token(self, key: Key, oauth: OAuthGrant, account_id: str) -> str:
        endpoint, headers, body = build_token_request(oauth)
        request = write_request(oauth.http_method, endpoint, build_headers(headers), body)
        response = await self._authorizer.post(endpoint, request, ATTEMPT_SECONDS, account_id)
        text, seconds = read_token(response)
        self._tokens.keep(key, text, seconds)
        return text


def judge_response(response: Response) -> Refusal | None:
    status = response.status
    if 200 <= status < 300:
        return None
    code = UNREACHED if status >= 500 else CODES.get(status, "CUSTOMER_VALIDATION")
    retry_after = read_retry_after(response.retry_after or "", datetime.now(UTC))
    return Refusal(code, f"The endpoint has answered {status}.", retry_after)


def read_retry_after(text: str, now: datetime) -> int:
    """Returns the seconds of a Retry-After header, or -1 for any negative number. Returns 0 for a past date, and for a
    text that is invalid. Sources: section 10.2.3 of RFC 9110; for negative numbers, "API destination error codes",
    EventBridge User Guide."""
    if re.fullmatch(r"-?[0-9]{1,10}", text):
        return max(-1, int(text))
    try:
        date = parsedate_to_datetime(text)
    except ValueError:
        return 0
    return max(0, round((date.replace(tzinfo=date.tzinfo or UTC) - now).total_seconds()))
