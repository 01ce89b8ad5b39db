"""Builds a function's event from a delivery.

The event has the members of the envelope that queues and URLs get. Two members have other names. Source: the example
in "Invoking Lambda functions with Amazon SNS notifications",
https://docs.aws.amazon.com/lambda/latest/dg/with-sns.html. A missing subject is null and missing attributes are an
empty object, so a function finds every member (our choice).
"""

from typing import Final

import msgspec

from penstock.delivery.delivery import SCHEDULE, Delivery

_RENAMED: Final = {"SigningCertURL": "SigningCertUrl", "UnsubscribeURL": "UnsubscribeUrl"}
_envelope = msgspec.json.Decoder(dict[str, object])


def build_event(delivery: Delivery) -> bytes:
    """Returns the event, in JSON. A schedule's event is its unchanged Input."""
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
