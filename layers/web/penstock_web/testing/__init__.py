"""Pytest fixtures for tests of applications: `penstock`, `sqs`, `sns` and `sqs_queue` (docs/guides/testing.md).

pytest loads the module `fixtures` in every project whose environment contains this package. The fixtures import boto3
only when a test needs it. The test server is a separate process with its own PostgreSQL. Its modules are `__main__`,
`server` and `users`.
"""

from .account import Account
from .clock import Clock
from .servers import TestServerError

__all__ = ["Account", "Clock", "TestServerError"]
