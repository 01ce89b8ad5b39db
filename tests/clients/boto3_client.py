"""Tells the stories with the boto3 of whatever environment it runs in: `python -m tests.clients.boto3_client URL`.

Prints the protocol that this boto3 speaks and the facts, as a Python literal.
"""

from __future__ import annotations

import sys
from typing import Any

import boto3
from botocore.exceptions import ClientError

from tests.clients.story import Facts, RefusedError, Story, fifo, standard


def tell(story: Story, client: Any) -> Facts:
    """Make the calls of a story one after the other; returns its facts."""
    try:
        method, arguments = next(story)
        while True:
            try:
                answer = getattr(client, method)(**arguments)
            except ClientError as error:
                method, arguments = story.throw(RefusedError(error.response["Error"]["Code"]))
            else:
                method, arguments = story.send(answer)
    except StopIteration as end:
        return dict(end.value)


def main(endpoint_url: str) -> None:
    """Both stories against a service."""
    client = boto3.client(
        "sqs",
        endpoint_url=endpoint_url,
        region_name="us-east-1",
        aws_access_key_id="x",
        aws_secret_access_key="x",
    )
    version = "-".join(boto3.__version__.split("."))
    facts = {
        "protocol": client.meta.service_model.metadata["protocol"],
        "standard": tell(standard(f"boto3-{version}"), client),
        "fifo": tell(fifo(f"boto3-{version}.fifo"), client),
    }
    sys.stdout.write(repr(facts))


if __name__ == "__main__":
    main(sys.argv[1])
