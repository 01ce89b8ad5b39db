"""Amazon Resource Names of queues. Operations and SQL functions identify a queue by its ARN.

The parsers in `penstock.aws` accept only the partition `aws`. A resource therefore has only one ARN, and a caller
cannot evade a policy with another spelling.
"""

import re
from functools import lru_cache
from typing import NamedTuple

from .fifo_name import is_fifo_name
from .named_queue import NamedQueue

MAX_NAME_LENGTH = 80
_NAME = re.compile(r"[A-Za-z0-9_-]{1,75}\.fifo|[A-Za-z0-9_-]{1,80}").fullmatch
_PREFIX = re.compile(r"[A-Za-z0-9_.-]{0,80}").fullmatch
_REGION = re.compile(r"[a-z0-9-]{1,32}").fullmatch
_ACCOUNT = re.compile(r"[0-9]{12}").fullmatch
_ARN = re.compile(r"arn:aws:sqs:([a-z0-9-]+):([0-9]{12}):(.+)").fullmatch


class QueueArn(NamedTuple):
    region: str
    account_id: str
    name: str

    @property
    def fifo(self) -> bool:
        """Returns whether the queue is FIFO. The suffix `.fifo` is part of the name."""
        return is_fifo_name(self.name)

    def __str__(self) -> str:
        return f"arn:aws:sqs:{self.region}:{self.account_id}:{self.name}"


def read_account(arn: str) -> str:
    """Returns the account id in a valid ARN."""
    return arn.split(":", 5)[4]


def read_region(arn: str) -> str:
    """Returns the region in a valid ARN."""
    return arn.split(":", 4)[3]


def is_queue_name(name: str) -> bool:
    """Returns whether a name has 1 to 80 characters of `[A-Za-z0-9_-]`. A FIFO queue's suffix `.fifo` counts towards
    the length."""
    return _NAME(name) is not None


def is_queue_name_prefix(text: str) -> bool:
    """Returns whether a queue name can start with this text. Every name starts with the empty string."""
    return _PREFIX(text) is not None


def is_account_id(text: str) -> bool:
    return _ACCOUNT(text) is not None


def is_region(text: str) -> bool:
    """Returns whether a text has 1 to 32 characters of `[a-z0-9-]`. AWS adds regions each year, so the function accepts
    every text of this form.
    """
    return _REGION(text) is not None


def resolve_queue_arn(region: str, account_id: str, name: str) -> str | None:
    """Returns the ARN, or None for an invalid account or name."""
    queue = resolve_queue(region, account_id, name)
    return None if queue is None else queue.arn


def resolve_queue(region: str, account_id: str, name: str) -> NamedQueue | None:
    """Returns the queue, or None for an invalid account or name. Results are cached."""
    return None if len(name) > MAX_NAME_LENGTH else _resolve_queue(region, account_id, name)


@lru_cache(maxsize=4096)
def _resolve_queue(region: str, account_id: str, name: str) -> NamedQueue | None:
    if not is_account_id(account_id) or not is_queue_name(name):
        return None
    return NamedQueue(f"arn:aws:sqs:{region}:{account_id}:{name}")


def parse_queue_arn(text: str) -> QueueArn | None:
    """Returns the parts of a queue's ARN, or None for any other text."""
    match = _ARN(text)
    if match is None or not is_queue_name(match[3]):
        return None
    return QueueArn(match[1], match[2], match[3])
