"""Checks whether the keys in the database were encrypted with the process's QUEUE_ENCRYPTION_KEY."""

from __future__ import annotations

from hashlib import sha256
from typing import TYPE_CHECKING, Final, NamedTuple

from penstock.postgres.statements.access import ENCRYPTION_KEY, SEALED_KEYS

from .secret_encryption import SIGNING_KEYS, DecryptionError, SecretCipher, read_key

if TYPE_CHECKING:
    from penstock.postgres.database import Database
    from penstock.postgres.statements.access import SealedKeyRow

_PURPOSE: Final = b"fingerprint of QUEUE_ENCRYPTION_KEY\0"
_SHOWN: Final = 3


class KeysAtRest(NamedTuple):
    """The state of a QUEUE_ENCRYPTION_KEY and the encrypted keys in a database."""

    is_installations: bool | None
    """Whether the installation uses this encryption key, or None if the installation has never used an encryption
    key.
    """
    readable: int
    unreadable: tuple[str, ...]
    """The ids of access keys that are encrypted with another encryption key, newest first."""
    signs: bool
    """Whether the encryption key can decrypt the key that signs SNS messages. The value is also True if the signing key
    is not encrypted."""
    unreadable_webhooks: tuple[str, ...]
    """The ARNs of webhooks whose credentials are encrypted with another encryption key, newest first."""
    unreadable_connections: tuple[str, ...]
    """The ARNs of connections whose parameters are encrypted with another encryption key, newest first."""

    @property
    def unreadable_text(self) -> str:
        """Returns the first ids, and the number of remaining ids."""
        shown, more = ", ".join(self.unreadable[:_SHOWN]), len(self.unreadable) - _SHOWN
        return f"{shown} and {more} more" if more > 0 else shown


def list_keys_at_rest(database: Database, encryption_key: str) -> KeysAtRest:
    """Decrypts the keys in the database. The function decrypts a few hundred keys per millisecond. Changes no data.

    Raises SettingError for a malformed encryption key, and AwsError if the database does not respond.
    """
    cipher = SecretCipher(encryption_key)
    (stored,) = database.call(ENCRYPTION_KEY, (None, False))
    rows = database.call(SEALED_KEYS, ())
    unreadable, unreadable_webhooks, unreadable_connections = (
        tuple(row.key_id for row in rows if row.kind == kind and not _can_read(cipher, row))
        for kind in ("access", "webhook", "connection")
    )
    return KeysAtRest(
        None if stored.fingerprint is None else bytes(stored.fingerprint) == compute_fingerprint(encryption_key),
        sum(row.kind == "access" for row in rows) - len(unreadable),
        unreadable,
        all(_can_read(cipher, row) for row in rows if row.kind == "signing"),
        unreadable_webhooks,
        unreadable_connections,
    )


def claim(database: Database, encryption_key: str) -> None:
    """Records that the installation uses this encryption key. Raises the errors of `list_keys_at_rest`."""
    database.call(ENCRYPTION_KEY, (compute_fingerprint(encryption_key), True))


def compute_fingerprint(encryption_key: str) -> bytes:
    """Returns a 16-byte hash that identifies the encryption key. The key is 32 random bytes, so the hash reveals
    nothing else. Raises SettingError."""
    return sha256(_PURPOSE + read_key(encryption_key)).digest()[:16]


def _can_read(cipher: SecretCipher, row: SealedKeyRow) -> bool:
    try:
        cipher.decrypt(bytes(row.sealed), row.key_id, row.account_id or SIGNING_KEYS)
    except DecryptionError:
        return False
    return True
