"""Encrypts the stored secrets of access keys with AES-256-GCM and QUEUE_ENCRYPTION_KEY, which is never in the
database.

An encrypted secret consists of the version (1), 12 random bytes, and the ciphertext with its tag. The tag also
authenticates the key id and the account, so an attacker cannot move a secret to another row. Only this module imports
`cryptography`, when it creates a cipher.
"""

import os
from base64 import b64decode
from binascii import Error as Base64Error

from penstock.settings import SettingError

KEY_BYTES = 32
SIGNING_KEYS = "sns"
"""Replaces the account id in the tag of private keys that sign SNS messages."""
_VERSION = b"\x01"
_NONCE_BYTES = 12


class DecryptionError(ValueError):
    """The secret is damaged, or was encrypted with another key or for another row."""


class SecretCipher:
    """Encrypts and decrypts secrets with one 32-byte key in base64. Raises SettingError if the key has another form."""

    __slots__ = ("_cipher",)

    def __init__(self, encryption_key: str) -> None:
        from cryptography.hazmat.primitives.ciphers.aead import AESGCM  # noqa: PLC0415

        self._cipher = AESGCM(read_key(encryption_key))

    def encrypt(self, secret: str, key_id: str, account_id: str) -> bytes:
        nonce = os.urandom(_NONCE_BYTES)
        return _VERSION + nonce + self._cipher.encrypt(nonce, secret.encode(), bind_to_key(key_id, account_id))

    def decrypt(self, encrypted: bytes, key_id: str, account_id: str) -> str:
        """Decrypts a secret. Raises DecryptionError."""
        from cryptography.exceptions import InvalidTag  # noqa: PLC0415

        nonce, text = encrypted[1 : 1 + _NONCE_BYTES], encrypted[1 + _NONCE_BYTES :]
        if encrypted[:1] != _VERSION or len(nonce) != _NONCE_BYTES:
            raise DecryptionError
        try:
            return self._cipher.decrypt(nonce, text, bind_to_key(key_id, account_id)).decode()
        except (InvalidTag, ValueError) as error:
            raise DecryptionError from error


def read_key(text: str) -> bytes:
    """Returns the 32 bytes of the key. Raises SettingError, whose text does not show the key."""
    try:
        key = b64decode(text, validate=True)
    except (Base64Error, ValueError):
        key = b""
    if len(key) != KEY_BYTES:
        raise SettingError("QUEUE_ENCRYPTION_KEY must be 32 bytes in base64 (openssl rand -base64 32)")
    return key


def bind_to_key(key_id: str, account_id: str) -> bytes:
    return f"{key_id}\0{account_id}".encode()
