"""Checks whether a process has the QUEUE_ENCRYPTION_KEY that encrypts the keys of its database."""

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
    """Facts about a QUEUE_ENCRYPTION_KEY and the keys of a database."""

    is_installations: bool | None
    """Whether the installation uses this encryption key. None means that the installation has not used any encryption
    key yet.
    """
    readable: int
    """The number of access keys that the encryption key can read."""
    unreadable: tuple[str, ...]
    """The ids of access keys that were encrypted with another encryption key, newest first."""
    signs: bool
    """Whether the encryption key can read the key that signs SNS messages. The value is true if the signing key is
    not encrypted.
    """

    @property
    def unreadable_text(self) -> str:
        """Returns the first ids, and the number of the other ids."""
        shown, more = ", ".join(self.unreadable[:_SHOWN]), len(self.unreadable) - _SHOWN
        return f"{shown} and {more} more" if more > 0 else shown


def list_keys_at_rest(database: Database, encryption_key: str) -> KeysAtRest:
    """Decrypts the keys of the database, at a few hundred keys in a millisecond. Changes no data.

    Raises SettingError for a malformed key, and AwsError if the database does not answer.
    """
    cipher = SecretCipher(encryption_key)
    (stored,) = database.call(ENCRYPTION_KEY, (None, False))
    rows = database.call(SEALED_KEYS, ())
    access = [row for row in rows if row.kind == "access"]
    unreadable = tuple(row.key_id for row in access if not _can_read(cipher, row))
    return KeysAtRest(
        None
        if stored.fingerprint is None
        else bytes(stored.fingerprint) == compute_fingerprint(encryption_key),
        len(access) - len(unreadable),
        unreadable,
        all(_can_read(cipher, row) for row in rows if row.kind == "signing"),
    )


def claim(database: Database, encryption_key: str) -> None:
    """Records this key as the installation's QUEUE_ENCRYPTION_KEY. Raises as `list_keys_at_rest` does."""
    database.call(ENCRYPTION_KEY, (compute_fingerprint(encryption_key), True))


def compute_fingerprint(encryption_key: str) -> bytes:
    """Returns 16 bytes that distinguish one key from another. The hash of a random 32-byte key reveals no more.
    Raises SettingError.
    """
    return sha256(_PURPOSE + read_key(encryption_key)).digest()[:16]


def _can_read(cipher: SecretCipher, row: SealedKeyRow) -> bool:
    try:
        cipher.decrypt(bytes(row.sealed), row.key_id, row.account_id or SIGNING_KEYS)
    except DecryptionError:
        return False
    return True
