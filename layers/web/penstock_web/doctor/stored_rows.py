"""Checks the stored rows for damage, forbidden subscriptions and unreadable keys.

The module also raises ids after a restore.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from penstock.access.deliveries import allows_delivery
from penstock.access.encryption_key import KeysAtRest, list_keys_at_rest
from penstock.postgres.database import Database
from penstock.postgres.statements.installation import CHECK_SERVER, FIND_PROBLEMS, JUMP_IDS
from penstock.postgres.statements.sns.subscriptions import (
    DROP_SUBSCRIPTION,
    FOREIGN_SUBSCRIPTIONS,
    REFUSE_DEAD_LETTER_QUEUE,
)

from .examination import Finding

KEYS: Final = "keys"
CALL_SECONDS: Final = 600.0
"""The time limit for a call. The check is slow, because it reads every FIFO group."""
_QUEUES_PER_JUMP: Final = 100


def find_damage(database: Database) -> Iterator[Finding]:
    """Yields a finding for each inconsistency between stored rows. Raises AwsError."""
    for row in database.call(FIND_PROBLEMS, ([],)):
        if row.subject != "roles":  # The check of the grants reports problems of roles.
            yield Finding(row.subject, row.problem)


def find_refused_subscriptions(database: Database, *, fix: bool) -> Iterator[Finding]:
    """Yields a finding for each subscription that the target queue's policy does not allow. Ends forbidden
    subscriptions if `fix` is true.
    """
    for row in database.call(FOREIGN_SUBSCRIPTIONS, ()):
        if allows_delivery(row.policy, row.queue_arn, row.topic_arn, row.owner):
            continue
        kind = "dead letters" if row.is_dead_letter_queue else "messages"
        problem = f"sends {kind} to the queue {row.queue_arn}, whose policy does not allow it"
        if fix and row.is_dead_letter_queue:
            database.call(REFUSE_DEAD_LETTER_QUEUE, (row.arn,))
        elif fix:
            database.call(DROP_SUBSCRIPTION, (row.arn, False, None))
        yield Finding(
            row.arn,
            f"{problem}: ended" if fix else problem,
            "",
            ""
            if fix
            else "end it with `penstock doctor --fix`, or allow sns.amazonaws.com to send in the queue's policy",
        )


def jump_ids(database: Database) -> tuple[Finding, ...]:
    """Raises the ids after a restore. Also works after a restore into the cluster from which the backup came. Returns
    no findings. Raises AwsError.
    """
    database.call(CHECK_SERVER, (True,))
    while any(row.changed for row in database.call(JUMP_IDS, (_QUEUES_PER_JUMP,))):
        pass
    return ()


def find_unreadable_keys(database: Database, encryption_key: str) -> Iterator[Finding]:
    """Finds access keys, and credentials of webhooks and connections, that the encryption key cannot decrypt. Raises
    AwsError, or SettingError for an invalid key."""
    found = list_keys_at_rest(database, encryption_key)
    yield from _find_unreadable_credentials(found)
    if found.unreadable:
        yield Finding(
            KEYS,
            f"access keys were encrypted with another QUEUE_ENCRYPTION_KEY: {found.unreadable_text}",
            "a service with this QUEUE_ENCRYPTION_KEY answers InvalidClientTokenId to callers that use these access "
            "keys",
            "run this command with the service's QUEUE_ENCRYPTION_KEY; replace the access keys if it is the service's "
            "key",
        )
    elif found.is_installations is False:
        yield Finding(
            KEYS,
            "QUEUE_ENCRYPTION_KEY is not the service's key",
            "the service could not decrypt access keys that a command creates with this QUEUE_ENCRYPTION_KEY",
            "set the service's key; `penstock up` stores its key in the file encryption_key of the data folder",
        )
    if not found.signs:
        yield Finding(
            KEYS,
            "the key that signs SNS messages was encrypted with another QUEUE_ENCRYPTION_KEY",
            "a service with this QUEUE_ENCRYPTION_KEY does not deliver messages that need a signature",
            "create a new key with `penstock keys rotate-signing`",
        )


def _find_unreadable_credentials(found: KeysAtRest) -> Iterator[Finding]:
    """Yields a finding for the webhooks and one for the connections that the encryption key cannot decrypt."""
    if found.unreadable_webhooks:
        yield Finding(
            KEYS,
            f"{len(found.unreadable_webhooks)} webhooks have a credential that was encrypted with another "
            f"QUEUE_ENCRYPTION_KEY, the newest is {found.unreadable_webhooks[0]}",
            "a service with this QUEUE_ENCRYPTION_KEY answers 500 to requests to these webhooks",
            "run this command with the service's QUEUE_ENCRYPTION_KEY; if it is the service's key, rotate the "
            "credentials",
        )
    if found.unreadable_connections:
        yield Finding(
            KEYS,
            "connections were encrypted with another QUEUE_ENCRYPTION_KEY, the newest is "
            f"{found.unreadable_connections[0]}",
            "the events for their API destinations wait, because no worker with this QUEUE_ENCRYPTION_KEY can decrypt "
            "the credentials",
            "run this command with the service's QUEUE_ENCRYPTION_KEY; if it is the service's key, send the "
            "credentials again with `penstock connections put`",
        )
