"""Keys that were made under another QUEUE_ENCRYPTION_KEY: the service refuses whoever uses them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from penstock.access.encryption_key import keys_at_rest
from penstock.postgres.database import Database

from .finding import Finding

SUBJECT: Final = "keys"


def find_unreadable_keys(database: Database, encryption_key: str) -> Iterator[Finding]:
    """Raises AwsError, SettingError for a key that is none."""
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
            "set the service's own; `penstock up` keeps that of its own database in the file encryption_key",
        )
    if not found.signs:
        yield Finding(
            SUBJECT,
            "another QUEUE_ENCRYPTION_KEY than this one encrypted the key that signs SNS messages",
            "a service with this one delivers nothing that has to be signed",
            "`penstock keys rotate-signing` makes another",
        )
