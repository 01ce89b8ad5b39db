"""Finds keys that were created under another QUEUE_ENCRYPTION_KEY. The service refuses callers that use them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from penstock.access.encryption_key import keys_at_rest
from penstock.postgres.database import Database

from .finding import Finding

SUBJECT: Final = "keys"


def find_unreadable_keys(database: Database, encryption_key: str) -> Iterator[Finding]:
    """Finds access keys that the encryption key cannot read. Raises AwsError, or SettingError for an invalid key."""
    found = keys_at_rest(database, encryption_key)
    if found.unreadable:
        yield Finding(
            SUBJECT,
            f"access keys were encrypted under another QUEUE_ENCRYPTION_KEY: {found.unreadable_text}",
            "a service with this one answers InvalidClientTokenId to callers that sign with them",
            "run this with the QUEUE_ENCRYPTION_KEY of the service; if it is that, replace these keys",
        )
    elif found.is_installations is False:
        yield Finding(
            SUBJECT,
            "QUEUE_ENCRYPTION_KEY is not the key of the service",
            "the service could not read access keys that are created under it",
            "set the service's key; `penstock up` keeps it in the file encryption_key of its data folder",
        )
    if not found.signs:
        yield Finding(
            SUBJECT,
            "the key that signs SNS messages was encrypted under another QUEUE_ENCRYPTION_KEY",
            "a service with this one delivers no messages that need a signature",
            "`penstock keys rotate-signing` creates another",
        )
