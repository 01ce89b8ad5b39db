"""Pytest fixtures for tests of applications: `penstock`, `sqs`, `sns` and `sqs_queue` (docs/guides/testing.md).

pytest loads `fixtures` in every project whose environment has this package. No module in this package imports boto3
before a test needs it.
"""

from .account import Account
from .clock import Clock
from .servers import TestServerError

__all__ = ["Account", "Clock", "TestServerError"]
