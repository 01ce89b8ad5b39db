"""Creates and deletes queues, outside the measured times."""

import json
import urllib.request

from .wire import AUTHORIZATION, CONTENT_TYPE, Address, signed_lines

# Messages stay invisible during a slow drain, so a second receive of a message is an error of the service.
VISIBILITY_SECONDS = 600
SIGNING_NAMES = {"AmazonSQS": "sqs", "AmazonSNS": "sns"}


def call(address: Address, action: str, payload: dict[str, object], service: str = "AmazonSQS") -> dict[str, object]:
    """One action, signed if the address has a key. Raises urllib.error.HTTPError for a status other than 2xx."""
    data, target = json.dumps(payload).encode(), f"{service}.{action}"
    signed = signed_lines(address, target, data, SIGNING_NAMES[service]).decode()
    given = dict(line.split(": ", 1) for line in signed.split("\r\n") if line)
    request = urllib.request.Request(
        f"http://{address.host}:{address.port}/",
        data=data,
        headers={"Content-Type": CONTENT_TYPE, "X-Amz-Target": target, **(given or {"Authorization": AUTHORIZATION})},
    )
    with urllib.request.urlopen(request, timeout=30) as answer:
        text = answer.read()
    return dict(json.loads(text)) if text else {}


def create_queue(address: Address, **given: str) -> None:
    """Creates a queue. `given` has attributes besides VisibilityTimeout, or another VisibilityTimeout."""
    attributes = {"VisibilityTimeout": str(VISIBILITY_SECONDS)} | given
    call(address, "CreateQueue", {"QueueName": address.queue, "Attributes": attributes})


def delete_queue(address: Address) -> None:
    call(address, "DeleteQueue", {"QueueUrl": address.queue_url})
