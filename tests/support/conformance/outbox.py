"""Reads /v1/outbox of a scenario's deployment. The module makes no assertions."""

import json
from typing import Any
from urllib.parse import urlencode

from tests.support import plain_http
from tests.support.conformance.sns import Sns


def outbox(sns: Sns, **query: Any) -> list[dict[str, Any]]:
    """Returns the outgoing messages in the order of their age, the oldest first. `destination` selects those of a
    test.
    """
    answer = plain_http.get(f"{sns.sqs.endpoint_url}/v1/outbox?{urlencode(query)}")
    assert answer.status_code == 200, answer.text
    return list(json.loads(answer.text))


def opt_out(sns: Sns, number: str) -> None:
    """Notes that the owner of a phone number wants no more text messages."""
    path = f"/v1/outbox/opted-out/{number.replace('+', '%2B')}"
    answer = plain_http.request("PUT", f"{sns.sqs.endpoint_url}{path}")
    assert (answer.status_code, json.loads(answer.text)) == (200, {"phone_number": number})
