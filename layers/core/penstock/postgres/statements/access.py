"""Keys and policies."""

from datetime import datetime
from typing import NamedTuple

from penstock.effects import BatchStatement, Statement


class AccessKeyRow(NamedTuple):
    """An access key that is not revoked. `sealed_secret`: encrypted with QUEUE_ENCRYPTION_KEY."""

    account_id: str
    sealed_secret: bytes


FIND_ACCESS_KEY = Statement("queue.find_access_key", ("text",), AccessKeyRow)


class BearerKeyRow(NamedTuple):
    """A bearer key that is not revoked. `secret_hash`: SHA-256 of its secret."""

    account_id: str
    secret_hash: bytes


FIND_BEARER_KEY = Statement("queue.find_bearer_key", ("text",), BearerKeyRow)


class ResourceEntry(NamedTuple):
    """A queue or topic by its ARN."""

    arn: str


class PolicyRow(NamedTuple):
    """The policy of entry `n` (from 1), JSON, and the account that owns the resource. An unknown one has no row.

    `receiver`: of a subscription that delivers to a queue, the account of the queue.
    """

    n: int
    policy: str | None
    owner: str
    receiver: str | None


READ_POLICIES = BatchStatement("queue.read_policies", ("text[]",), PolicyRow, entry=ResourceEntry)
READ_TOPIC_POLICIES = BatchStatement("queue.read_topic_policies", ("text[]",), PolicyRow, entry=ResourceEntry)


class CreatedKeyRow(NamedTuple):
    """Whether the key id was free."""

    created: bool


CREATE_KEY = Statement("queue.create_key", ("text", "text", "text", "bytea", "text"), CreatedKeyRow)


class KeyRow(NamedTuple):
    """A key of a list. `kind`: access or bearer. `revoked_at`: None for a key that is valid."""

    kind: str
    key_id: str
    account_id: str
    created_at: datetime
    revoked_at: datetime | None
    description: str


LIST_KEYS = Statement("queue.list_keys", (), KeyRow)


class RevokedKeyRow(NamedTuple):
    """Whether there was such a key."""

    revoked: bool


REVOKE_KEY = Statement("queue.revoke_key", ("text",), RevokedKeyRow)
