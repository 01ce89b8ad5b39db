"""Checks the stored rows for damage, forbidden subscriptions and unreadable keys.

The command also raises the ids of messages after a restore.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from penstock.access.deliveries import allows_delivery
from penstock.access.encryption_key import list_keys_at_rest
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
"""The check may take this time, because it reads every FIFO group."""
_QUEUES_PER_JUMP: Final = 100


def find_damage(database: Database) -> Iterator[Finding]:
    """Yields rows that contradict each other. Raises AwsError."""
    for row in database.call(FIND_PROBLEMS, ([],)):
        if row.subject != "roles":  # See grants.
            yield Finding(row.subject, row.problem)


def find_refused_subscriptions(database: Database, *, fix: bool) -> Iterator[Finding]:
    """Yields old subscriptions that the target queues' policies do not allow."""
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
            "" if fix else "`penstock doctor --fix` ends it; or let the queue's policy allow it to sns.amazonaws.com",
        )


def jump_ids(database: Database) -> tuple[Finding, ...]:
    """Raises the ids after a restore into the same cluster, as if the server had changed. Finds nothing. Raises
    AwsError."""
    database.call(CHECK_SERVER, (True,))
    while any(row.changed for row in database.call(JUMP_IDS, (_QUEUES_PER_JUMP,))):
        pass
    return ()


def find_unreadable_keys(database: Database, encryption_key: str) -> Iterator[Finding]:
    """Finds access keys that the encryption key cannot read. Raises AwsError, or SettingError for an invalid key."""
    found = list_keys_at_rest(database, encryption_key)
    if found.unreadable:
        yield Finding(
            KEYS,
            f"access keys were encrypted under another QUEUE_ENCRYPTION_KEY: {found.unreadable_text}",
            "a service with this one answers InvalidClientTokenId to callers that sign with them",
            "run this with the QUEUE_ENCRYPTION_KEY of the service; if it is that, replace these keys",
        )
    elif found.is_installations is False:
        yield Finding(
            KEYS,
            "QUEUE_ENCRYPTION_KEY is not the key of the service",
            "the service could not read access keys that are created under it",
            "set the service's key; `penstock up` keeps it in the file encryption_key of its data folder",
        )
    if not found.signs:
        yield Finding(
            KEYS,
            "the key that signs SNS messages was encrypted under another QUEUE_ENCRYPTION_KEY",
            "a service with this one delivers no messages that need a signature",
            "`penstock keys rotate-signing` creates another",
        )
