"""Keys that were made under another QUEUE_ENCRYPTION_KEY: the service refuses whoever uses them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from penstock.access.encryption_key import keys_at_rest
from penstock.postgres.database import Database

from .finding import Finding

SUBJECT: Final = "keys"


def find_unreadable_keys(database: Database, encryption_key: str) -> Iterator[Finding]:
    """Finds access keys that the encryption key cannot read. Raises AwsError, SettingError for an invalid key."""
    found = keys_at_rest(database, encryption_key)
    if found.unreadable:
        yield Finding(
            SUBJECT,
            f"another QUEUE_ENCRYPTION_KEY than this one encrypted access keys: {found.unreadable_text}",
            "a service with this one answers InvalidClientTokenId to whoever signs with them",
            "run this with the service's own; if it is that, make other keys, and `penstock keys revoke` these",
        )
    elif found.is_installations is False:
        yield Finding(
            SUBJECT,
            "QUEUE_ENCRYPTION_KEY is not the one of the service",
            "the service could not read access keys that are made under it",
            "set the service's key; `penstock up` keeps it in the file encryption_key of its data folder",
        )
    if not found.signs:
        yield Finding(
            SUBJECT,
            "another QUEUE_ENCRYPTION_KEY than this one encrypted the key that signs SNS messages",
            "a service with this one delivers nothing that has to be signed",
            "`penstock keys rotate-signing` makes another",
        )
