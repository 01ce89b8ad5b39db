"""Runs the scenarios with the boto3 of its environment: `python -m tests.support.clients.boto3_client URL`.

Prints boto3's protocol and the facts as a Python literal.
"""

from __future__ import annotations

import sys
from functools import partial
from typing import Any

import boto3
from botocore.exceptions import ClientError

from tests.support.clients.scenario import RefusedError, fifo, run_scenario, standard


def call(client: Any, method: str, arguments: dict[str, Any]) -> dict[str, Any]:
    """Makes a call. Raises RefusedError with the error code."""
    try:
        return dict(getattr(client, method)(**arguments))
    except ClientError as error:
        raise RefusedError(error.response["Error"]["Code"]) from error


def main(endpoint_url: str) -> None:
    client = boto3.client(
        "sqs", endpoint_url=endpoint_url, region_name="us-east-1", aws_access_key_id="x", aws_secret_access_key="x"
    )
    version = "-".join(boto3.__version__.split("."))
    facts = {
        "protocol": client.meta.service_model.metadata["protocol"],
        "standard": run_scenario(standard(f"boto3-{version}"), partial(call, client)),
        "fifo": run_scenario(fifo(f"boto3-{version}.fifo"), partial(call, client)),
    }
    sys.stdout.write(repr(facts))


if __name__ == "__main__":
    main(sys.argv[1])
