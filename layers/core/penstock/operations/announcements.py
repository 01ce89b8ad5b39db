"""What is said to subscribers: envelopes and confirmations, signed with the installation's key.

A process keeps its key for a while, and for each topic the signature version that it was last told; both are checked
against the database where they matter, so a stale one costs a second call and nothing else.
"""

from collections.abc import Generator
from time import monotonic
from typing import TYPE_CHECKING, Any
from uuid import uuid4

from .. import notification
from ..arn_sns import TopicArn
from ..context import Context
from ..effects import Effect, Sql
from ..errors import InternalFailure
from ..message_id import as_text
from ..sealing import Sealer, Unsealable
from ..signing_sns import Signer, new_key
from ..statements import ADD_SIGNING_KEY, CURRENT_SIGNING_KEY

if TYPE_CHECKING:
    from .publishing import Outgoing

KEEP_SECONDS = 60.0
MOST_TOPICS = 4096
SEALED_FOR = "sns"  # the row that a sealed private key is good for

_versions: dict[str, str] = {}
_kept: dict[int, tuple[float, Signer]] = {}  # by environment


# --- signature versions ----------------------------------------------------------------------------------------------
def signature_version(topic: str) -> str:
    """The topic's version, as far as this process knows; 1 is AWS's default."""
    return _versions.get(topic, "1")


def learn_signature_version(topic: str, version: str) -> str:
    """Remembers the version that the database told."""
    if len(_versions) >= MOST_TOPICS:
        _versions.clear()
    _versions[topic] = version
    return version


# --- keys ------------------------------------------------------------------------------------------------------------
def signer(context: Context) -> Generator[Effect, Any, Signer]:
    """The key that signs now, at most a minute old. Makes the installation's first one."""
    environment = context.environment
    kept = _kept.get(id(environment))
    if kept is not None and monotonic() < kept[0]:
        return kept[1]
    rows = yield Sql(CURRENT_SIGNING_KEY, ())
    if not rows:
        rows = yield from add_key(context.environment.settings.queue_encryption_key, rotate=False)
    key_id, sealed, private_key = rows[0]
    found = Signer(
        key_id, opened(key_id, sealed, bytes(private_key), environment.settings.queue_encryption_key)
    )
    _kept[id(environment)] = (monotonic() + KEEP_SECONDS, found)
    return found


def add_key(encryption_key: str, *, rotate: bool) -> Generator[Effect, Any, Any]:
    """Offers a new key; the row of the one that signs then, which may be another process's."""
    made = new_key()
    private = made.private_key
    if encryption_key:
        private = Sealer(encryption_key).seal(private.decode(), made.key_id, SEALED_FOR)
    return (
        yield Sql(ADD_SIGNING_KEY, (made.key_id, bool(encryption_key), private, made.certificate, rotate))
    )


def opened(key_id: str, sealed: bool, private_key: bytes, encryption_key: str) -> bytes:
    """The private key's PEM. Raises InternalFailure when it was sealed under another encryption key."""
    if not sealed:
        return private_key
    try:
        return Sealer(encryption_key).open(private_key, key_id, SEALED_FOR).encode()
    except Unsealable as error:
        raise InternalFailure from error


def certificate_url(found: Signer, context: Context) -> str:
    """Where whoever verifies finds the certificate: at SNS_CERT_HOST, where that is set, else here."""
    host = context.environment.settings.sns_cert_host
    return (f"https://{host}" if host else context.base_url) + found.certificate_path


# --- texts -----------------------------------------------------------------------------------------------------------
def letterhead(version: str, context: Context) -> Generator[Effect, Any, notification.Letterhead]:
    """Who signs now, and where links lead: the address that the caller itself used."""
    key = yield from signer(context)
    return notification.Letterhead(key, version, context.base_url, certificate_url(key, context))


def contents(
    topic: TopicArn, message: "Outgoing", version: str, context: Context
) -> Generator[Effect, Any, dict[str, dict[str, str]]]:
    """By protocol: the text itself, and its envelope in two parts."""
    head = yield from letterhead(version, context)
    message_id, at = as_text(message.message_id), notification.timestamp()
    found = {}
    for protocol, text in message.texts.items():
        parts = notification.notification(
            head, str(topic), message_id, text, message.subject, at, message.attributes
        )
        found[protocol] = {"raw": text, "head": parts.head, "tail": parts.tail}
    return found


def confirmation(kind: str, topic: TopicArn, token: str, context: Context) -> Generator[Effect, Any, str]:
    """What asks an endpoint to confirm (SubscriptionConfirmation), or tells it of the end (UnsubscribeConfirmation)."""
    head = yield from letterhead(signature_version(str(topic)), context)
    return notification.confirmation(head, kind, str(topic), str(uuid4()), token, notification.timestamp())
