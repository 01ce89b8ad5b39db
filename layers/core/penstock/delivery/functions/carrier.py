"""The carrier of invocations, for subscriptions of functions and schedules that target functions."""

import logging
from typing import Final

import msgspec

from penstock.access.functions import is_listed
from penstock.aws.function_arn import parse_function_arn
from penstock.delivery.carrier import ATTEMPT_SECONDS
from penstock.delivery.delivery import SCHEDULE, Delivery
from penstock.delivery.outcome import Outcome
from penstock.endpoint import EndpointRefused
from penstock.settings import Settings

from .client import FunctionClient
from .outcome import judge_failure, judge_response, refuse_invocation

_log = logging.getLogger(__name__)


class FunctionCarrier:
    """Invokes functions asynchronously, as AWS does (InvocationType Event). The caller closes `client`."""

    def __init__(self, settings: Settings, client: FunctionClient) -> None:
        self._settings = settings
        self._client = client

    async def carry(self, delivery: Delivery) -> Outcome:
        """Invokes a function. Lambda responds before the function runs."""
        function = parse_function_arn(delivery.endpoint)
        if function is None or not is_listed(function, self._settings):
            return refuse_invocation(delivery, "QUEUE_LAMBDA_FUNCTIONS does not have the function")
        try:
            event = build_event(delivery)
            response = await self._client.invoke(function, event, ATTEMPT_SECONDS, "Event")
        except (TimeoutError, EndpointRefused, OSError) as error:
            # The account reads the outcome, which must not reveal names inside the network.
            extra = {"delivery": delivery.delivery_id, "cause": str(error) or type(error).__name__}
            _log.warning("QUEUE_LAMBDA_ENDPOINT cannot be reached", extra=extra)
            return judge_failure(delivery, "Lambda cannot be reached")
        except Exception as error:  # noqa: BLE001 - one delivery must not end the run of the others
            _log.exception("function was not invoked", exc_info=error, extra={"delivery": delivery.delivery_id})
            return judge_failure(delivery, "the function was not invoked")
        return judge_response(delivery, response)._replace(sent_bytes=len(event))

    def find_server(self, _delivery: Delivery) -> None: ...


_RENAMED: Final = {"SigningCertURL": "SigningCertUrl", "UnsubscribeURL": "UnsubscribeUrl"}
_envelope = msgspec.json.Decoder(dict[str, object])


def build_event(delivery: Delivery) -> bytes:
    """Returns the event, in JSON. A schedule's event is its unchanged Input.

    Other events have the members of the envelope that queues and URLs receive, but two members have other names.
    Source: the example in "Invoking Lambda functions with Amazon SNS notifications",
    https://docs.aws.amazon.com/lambda/latest/dg/with-sns.html. If the message has no subject or attributes, the member
    is null or an empty object, so that an event always has every member (Penstock's choice).
    """
    if delivery.kind == SCHEDULE:
        return delivery.body.encode()
    return msgspec.json.encode(
        {
            "Records": [
                {
                    "EventSource": "aws:sns",
                    "EventVersion": "1.0",
                    "EventSubscriptionArn": delivery.subscription_arn,
                    "Sns": build_sns_member(delivery.body),
                }
            ]
        }
    )


def build_sns_member(text: str) -> dict[str, object]:
    """Returns the envelope as a member of the event."""
    envelope = {_RENAMED.get(name, name): value for name, value in _envelope.decode(text).items()}
    return {"Subject": None, "MessageAttributes": {}, **envelope}
