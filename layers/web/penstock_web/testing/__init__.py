"""Pytest fixtures for tests of applications: `penstock`, `sqs`, `sns` and `sqs_queue` (docs/guides/testing.md).

pytest loads `fixtures` in every project whose environment contains this package. boto3 is imported only when a test
needs it. The test server is a process with a separate PostgreSQL: `__main__`, `server` and `users` are its modules.
"""

from .account import Account
from .clock import Clock
from .servers import TestServerError

__all__ = ["Account", "Clock", "TestServerError"]
