"""Runs the scenarios concurrently with aioboto3: `python -m tests.support.clients.aioboto3_client URL` prints the
facts.
"""

from __future__ import annotations

import asyncio
import sys
from typing import Any

import aioboto3
from botocore.exceptions import ClientError

from tests.support.clients.scenario import Facts, RefusedError, Scenario, fifo, standard


async def run_scenario(scenario: Scenario, client: Any) -> Facts:
    """Makes a scenario's calls in sequence and returns its facts."""
    try:
        method, arguments = next(scenario)
        while True:
            try:
                response = await getattr(client, method)(**arguments)
            except ClientError as error:
                method, arguments = scenario.throw(RefusedError(error.response["Error"]["Code"]))
            else:
                method, arguments = scenario.send(response)
    except StopIteration as end:
        return dict(end.value)


async def main(endpoint_url: str) -> None:
    session = aioboto3.Session(aws_access_key_id="x", aws_secret_access_key="x", region_name="us-east-1")
    async with session.client("sqs", endpoint_url=endpoint_url) as client:
        told = await asyncio.gather(
            run_scenario(standard("aioboto3"), client), run_scenario(fifo("aioboto3.fifo"), client)
        )
    sys.stdout.write(repr({"protocol": "json", "standard": told[0], "fifo": told[1]}))


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1]))
