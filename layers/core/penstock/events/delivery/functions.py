"""Invokes AWS Lambda functions with batches of events.

A universal target is one call of Invoke for a batch, with the payload in its input. Otherwise, a batch is one
invocation, with a JSON array of the events. If MaxBatchSize is 1, the payload is the event. With the
invocation type REQUEST_RESPONSE, the response can name the events that failed, by their event ids, in
batchItemFailures, as functions do for SQS. Source: "Targets" of the custom event bus (EventBridge User Guide,
https://docs.aws.amazon.com/eventbridge/latest/userguide/eb-custom-bus.html).
"""

import asyncio
import logging
from collections.abc import Sequence
from time import monotonic
from typing import Final

from penstock.access.functions import find_function_refusal, is_listed
from penstock.aws.function_arn import FunctionArn, parse_function_arn
from penstock.aws.json_text import decode_json
from penstock.aws.universal_target import INVOKE, UniversalTargetInvalid
from penstock.delivery.functions.client import FUNCTION_ERROR, FunctionClient, InvocationType
from penstock.delivery.http.connection import Response
from penstock.endpoint import EndpointRefused
from penstock.environment import build_worker_environment
from penstock.event_sources.invocation import read_function_error
from penstock.event_sources.response import Malformed, read_failed_ids
from penstock.settings import Settings
from penstock.sns.publishing.publications import build_publisher_context
from penstock.universal_calls import InvokeRequest, build_payload, read_call

from .batches import Batch
from .event import Event
from .payloads import Payload, build_payloads, join, list_ready, split_payloads
from .subscriber import INTERNAL_ERROR, NOT_TRANSFORMED, Refusal, Result, Subscriber, Waiting
from .transformation import Transformation

KEPT_BYTES: Final = 1_048_576
"""The most bytes of a response that are read for batchItemFailures."""
MAX_SECONDS: Final = 30
"""The default of InvocationTimeoutSeconds, and its greatest value."""
MAX_PAYLOADS: Final[dict[InvocationType, int]] = {"RequestResponse": 6 << 20, "Event": 1 << 20}
"""The most bytes of an invocation ("Lambda quotas", https://docs.aws.amazon.com/lambda/latest/dg/gettingstarted-limits.html).
A batch with more bytes becomes several invocations."""
CODES: Final = {403: "ACCESS_DENIED", 404: "RESOURCE_NOT_FOUND", 413: "REQUEST_TOO_LARGE", 429: "THROTTLING"}
UNREACHED: Final = Refusal(INTERNAL_ERROR, "Lambda cannot be reached.")
REPORTED: Final = Refusal("PARTIAL_BATCH_FAILURE", "The function reported the event in batchItemFailures.")

_log = logging.getLogger(__name__)


class FunctionBatches:
    """Sends batches to functions in one event loop."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._environment = build_worker_environment(settings)
        self._transformation = Transformation()
        self._client = FunctionClient(settings.queue_lambda_endpoint, KEPT_BYTES)

    async def close(self) -> None:
        await self._client.close()

    async def carry(self, batch: Batch) -> list[Result]:
        """Invokes the function, one payload after another. Of a FIFO subscriber, sends no event of a group after a
        refused one."""
        if batch.subscriber.action is not None:
            return await self._call_action(batch)
        payloads = await build_payloads(self._transformation, batch)
        results: list[Result] = [each if isinstance(each, Refusal) else Waiting.UNSENT for each in payloads]
        texts = [each.text if isinstance(each, Payload) else "" for each in payloads]
        kind = read_kind(batch.subscriber)
        for places in split_payloads(payloads, MAX_PAYLOADS[kind]):
            ready = list_ready(batch, places, results)
            if ready and monotonic() < batch.sends_until:
                payload = join([texts[place] for place in ready], batch)
                function, chosen = find_function(batch.subscriber), [batch.events[place] for place in ready]
                refusals = await self._invoke(batch.subscriber, function, payload.encode(), kind, chosen)
                for place, refusal in zip(ready, refusals, strict=True):
                    results[place] = refusal
        return results

    async def _call_action(self, batch: Batch) -> list[Result]:
        """Calls Invoke once for the whole batch, as the input of a universal target says."""
        (given,) = await asyncio.to_thread(self._transformation.build_inputs, batch.subscriber, [batch.events])
        if isinstance(given, Refusal):
            return [given] * len(batch.events)
        try:
            call = read_call(INVOKE, given, build_publisher_context(batch.subscriber, self._environment))
        except UniversalTargetInvalid as invalid:
            return [Refusal(NOT_TRANSFORMED, str(invalid))] * len(batch.events)
        assert isinstance(call.request, InvokeRequest)  # noqa: S101 - the action is Invoke
        function, payload = parse_function_arn(call.arn), build_payload(call.request).encode()
        refusal = find_function_refusal(
            function, call.arn, batch.subscriber.account_id, batch.subscriber.region, self._settings
        )
        if refusal is not None:
            return [Refusal("ACCESS_DENIED", refusal)] * len(batch.events)
        if monotonic() >= batch.sends_until:
            return [Waiting.UNSENT] * len(batch.events)
        kind = call.request.invocation_type
        return list(await self._invoke(batch.subscriber, function, payload, kind, batch.events))

    async def _invoke(
        self,
        subscriber: Subscriber,
        function: FunctionArn | None,
        payload: bytes,
        kind: InvocationType,
        events: Sequence[Event],
    ) -> list[Refusal | None]:
        ids = [str(event.event_id) for event in events]
        try:
            refusal, failed = await self._call(subscriber, function, payload, frozenset(ids), kind)
        except Exception as error:  # noqa: BLE001 - one batch must not end the others
            _log.exception("function was not invoked", exc_info=error, extra={"subscriber": subscriber.arn})
            refusal, failed = UNREACHED, frozenset()
        return [refusal or (REPORTED if event_id in failed else None) for event_id in ids]

    async def _call(
        self,
        subscriber: Subscriber,
        function: FunctionArn | None,
        payload: bytes,
        ids: frozenset[str],
        kind: InvocationType,
    ) -> tuple[Refusal | None, frozenset[str]]:
        """Returns the refusal of the whole batch, or None and the ids of the events that failed."""
        if function is None or not is_listed(function, self._settings):
            return Refusal("ACCESS_DENIED", "QUEUE_LAMBDA_FUNCTIONS does not have the function."), frozenset()
        seconds = float(subscriber.parameters.get("InvocationTimeoutSeconds") or MAX_SECONDS)
        try:
            response = await self._client.invoke(function, payload, seconds, kind)
        except TimeoutError as error:
            # An error with a text means that no connection was possible.
            late = Refusal("EXECUTION_TIMEOUT", f"The function did not respond within {seconds:.0f} s.")
            return UNREACHED if error.args else late, frozenset()
        except (EndpointRefused, OSError) as error:
            # The account reads the refusal, which must not reveal names inside the network.
            extra = {"subscriber": subscriber.arn, "cause": str(error) or type(error).__name__}
            _log.warning("QUEUE_LAMBDA_ENDPOINT cannot be reached", extra=extra)
            return UNREACHED, frozenset()
        return judge_response(response, ids)


def judge_response(response: Response, ids: frozenset[str]) -> tuple[Refusal | None, frozenset[str]]:
    """Returns the refusal of a whole batch, or None and the ids of the events that the response reports as failed."""
    status = response.status
    if not 200 <= status < 300:
        code = "INVOCATION_DEPENDENCY_INTERNAL" if status >= 500 else CODES.get(status, "CUSTOMER_VALIDATION")
        return Refusal(code, f"Lambda has answered {status}."), frozenset()
    body = response.start or b""
    if FUNCTION_ERROR in response.headers:
        return Refusal("COMPUTE_EXECUTION_ERROR", read_function_error(body) or "The function failed."), frozenset()
    if not response.is_complete:
        return Refusal("CUSTOMER_VALIDATION", "The response of the function is too long."), frozenset()
    if not has_failures(body):
        return None, frozenset()
    try:
        return None, read_failed_ids(body, ids)
    except Malformed as error:
        return Refusal("CUSTOMER_VALIDATION", f"The response of the function is invalid: {error}."), frozenset()


def has_failures(body: bytes) -> bool:
    """Returns whether a response has batchItemFailures. Functions can return anything else."""
    try:
        document = decode_json(body)
    except (RecursionError, ValueError):
        return False
    return isinstance(document, dict) and bool(document.get("batchItemFailures"))


def find_function(subscriber: Subscriber) -> FunctionArn | None:
    """Returns the target with the Qualifier of the parameters."""
    function = parse_function_arn(subscriber.target_arn)
    qualifier = subscriber.parameters.get("Qualifier")
    return function._replace(qualifier=qualifier) if function is not None and qualifier else function


def read_kind(subscriber: Subscriber) -> InvocationType:
    """Returns Lambda's name of the InvocationType. EVENT is the default (our choice)."""
    return "RequestResponse" if subscriber.parameters.get("InvocationType") == "REQUEST_RESPONSE" else "Event"
