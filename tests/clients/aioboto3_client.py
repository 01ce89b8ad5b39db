"""Tells the stories with aioboto3, at the same time: `python -m tests.clients.aioboto3_client URL` prints the facts."""

from __future__ import annotations

import asyncio
import sys
from typing import Any

import aioboto3
from botocore.exceptions import ClientError

from tests.clients.story import Facts, RefusedError, Story, fifo, standard


async def tell(story: Story, client: Any) -> Facts:
    """Make the calls of a story one after the other; returns its facts."""
    try:
        method, arguments = next(story)
        while True:
            try:
                answer = await getattr(client, method)(**arguments)
            except ClientError as error:
                method, arguments = story.throw(RefusedError(error.response["Error"]["Code"]))
            else:
                method, arguments = story.send(answer)
    except StopIteration as end:
        return dict(end.value)


async def main(endpoint_url: str) -> None:
    """Both stories against a service."""
    session = aioboto3.Session(aws_access_key_id="x", aws_secret_access_key="x", region_name="us-east-1")
    async with session.client("sqs", endpoint_url=endpoint_url) as client:
        told = await asyncio.gather(tell(standard("aioboto3"), client), tell(fifo("aioboto3.fifo"), client))
    sys.stdout.write(repr({"protocol": "json", "standard": told[0], "fifo": told[1]}))


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1]))
