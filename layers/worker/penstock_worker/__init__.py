"""Runs a function for each message of a queue, over an AWS SDK or over SQL.

    @worker("orders", concurrency=8)
    def handle(message: Message) -> None: ...

    handle.run()

A worker imports boto3 or psycopg when it starts. This package imports no module of the service.
"""

from .decorator import worker
from .message import Message
from .runner import Worker, run
from .settings import exponential_backoff

__all__ = ["Message", "Worker", "exponential_backoff", "run", "worker"]
