"""Creates access keys and policies for the tests of QUEUE_ACCESS."""

import json
from base64 import b64encode
from contextlib import AbstractContextManager
from typing import Any

from penstock.settings import Settings
from penstock_web.cli.key_ring import KeyRing
from tests.support.conformance.sqs import Sqs
from tests.support.database import Database

ENCRYPTION_KEY = b64encode(bytes(range(32))).decode()
SIGV4 = {"QUEUE_ACCESS": "sigv4", "QUEUE_ENCRYPTION_KEY": ENCRYPTION_KEY, "QUEUE_ACCESS_CACHE_SECONDS": "0"}
PRESENCE = {"QUEUE_ACCESS": "presence"}
OWNER, PARTNER = "000000000000", "111122223333"


def new_key(database: Database, account: str, user: str | None = None) -> tuple[str, str]:
    """Creates a key as the command line does. Returns the key's id and secret."""
    with key_ring(database) as ring:
        made = ring.create(account, "", bearer=False, user=user)
    return made.key_id, made.secret


def key_ring(database: Database) -> AbstractContextManager[KeyRing]:
    return KeyRing.open(Settings.read({**SIGV4, "DATABASE_URL": database.api_dsn}))


def revoke(database: Database, key_id: str) -> None:
    with key_ring(database) as ring:
        list(ring.revoke(key_id))


def allow(owner: Sqs, url: str, *actions: str, effect: str = "Allow", principal: Any = PARTNER) -> None:
    principals = principal if principal == "*" else {"AWS": principal}
    statement = {"Effect": effect, "Principal": principals, "Action": list(actions), "Resource": owner.arn(url)}
    policy = json.dumps({"Version": "2012-10-17", "Statement": [statement]})
    owner.client.set_queue_attributes(QueueUrl=url, Attributes={"Policy": policy})
