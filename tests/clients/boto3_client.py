"""Tells the stories with the boto3 of whatever environment it runs in: `python -m tests.clients.boto3_client URL`.

Prints the protocol that this boto3 speaks and the facts, as a Python literal.
"""

from __future__ import annotations

import sys
from functools import partial
from typing import Any

import boto3
from botocore.exceptions import ClientError

from tests.clients.story import RefusedError, fifo, standard, tell


def call(client: Any, method: str, arguments: dict[str, Any]) -> dict[str, Any]:
    """Raises RefusedError with the code of the error."""
    try:
        return dict(getattr(client, method)(**arguments))
    except ClientError as error:
        raise RefusedError(error.response["Error"]["Code"]) from error


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
        "standard": tell(standard(f"boto3-{version}"), partial(call, client)),
        "fifo": tell(fifo(f"boto3-{version}.fifo"), partial(call, client)),
    }
    sys.stdout.write(repr(facts))


if __name__ == "__main__":
    main(sys.argv[1])
