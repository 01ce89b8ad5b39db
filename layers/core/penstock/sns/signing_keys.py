"""The key that signs SNS messages. The first process that signs creates the key, and all processes read it once a
minute.

After a rotation a process can sign with the old key for up to a minute. The service serves the old certificate for 30
more days.
"""

import logging
from time import monotonic

from penstock.access.secret_encryption import SIGNING_KEYS, DecryptionError, SecretCipher
from penstock.context import Context
from penstock.effects import Call, Operation
from penstock.errors import InternalFailure
from penstock.postgres.statements.access import ADD_SIGNING_KEY, CURRENT_SIGNING_KEY, SigningKeyRow
from penstock.settings import SettingError

from .signatures import NewSigningKey, Signer, SigningKeyCache

KEEP_SECONDS = 60.0

_log = logging.getLogger(__name__)


def find_signer(context: Context) -> Operation[Signer]:
    """Returns the signing key, which was read at most a minute ago. Creates the installation's first key. Raises
    InternalFailure."""
    cache, settings = context.environment.cache(SigningKeyCache), context.environment.settings
    if (kept := cache.fresh(monotonic())) is not None:
        return kept
    rows = yield from Call(CURRENT_SIGNING_KEY, ())
    if not rows:
        if (kept := cache.fresh(monotonic())) is not None:
            return kept  # another request of this process has created the key meanwhile
        rows = yield from add_key(cache.offer(), settings.queue_encryption_key, rotate=False)
    (key,) = rows
    found = cache.signer
    if found is None or found.key_id != key.key_id:
        found = Signer(key.key_id, decrypt_private_key(key, settings.queue_encryption_key))
    cache.keep(found, monotonic() + KEEP_SECONDS)
    return found


def add_key(made: NewSigningKey, encryption_key: str, *, rotate: bool) -> Operation[list[SigningKeyRow]]:
    """Stores the new key if it is the first key, or if `rotate` is set. Returns the row of the key that signs."""
    private = made.private_key
    if encryption_key:
        private = SecretCipher(encryption_key).encrypt(private.decode(), made.key_id, SIGNING_KEYS)
    stored = (made.key_id, bool(encryption_key), private, made.certificate, rotate)
    return (yield from Call(ADD_SIGNING_KEY, stored))


def decrypt_private_key(key: SigningKeyRow, encryption_key: str) -> bytes:
    """Returns the private key in PEM. Raises InternalFailure if the key was encrypted with another encryption key."""
    private_key = bytes(key.private_key)
    if not key.sealed:
        return private_key
    try:
        return SecretCipher(encryption_key).decrypt(private_key, key.key_id, SIGNING_KEYS).encode()
    except (DecryptionError, SettingError) as error:
        _log.error("signing key was not made with this QUEUE_ENCRYPTION_KEY", extra={"key": key.key_id})
        raise InternalFailure from error
