"""Who may call what: QUEUE_ACCESS.

    off       everyone; there is no Access object, and nothing is looked at
    presence  whoever sends credentials, whatever they are
    sigv4     whoever signs with an access key of ours (the REST API: whoever brings a bearer key); the account is the
              key's, and another account's queue is open as far as its policy says

Credentials are looked at twice. `check` is pure and comes before the request is read; the guard that it gives for a
signature is a part of the operation, so that its look-ups are effects, which every driver answers in its own way.
"""

import hmac
import logging
import re
from collections.abc import Callable, Generator
from functools import partial
from hashlib import sha256
from time import monotonic, time
from typing import Any, Generic, NamedTuple, Protocol, TypeVar

from penstock.effects import Effect, Operation, Row, Sql, Statement
from penstock.errors import (
    AccessDenied,
    InternalFailure,
    InvalidClientTokenId,
    MissingAuthenticationToken,
    SignatureDoesNotMatch,
)
from penstock.http import HttpRequest
from penstock.postgres.statements import FIND_ACCESS_KEY, FIND_BEARER_KEY
from penstock.settings import Settings

from . import sigv4
from .authorization import RequestContext, authorize
from .secret_encryption import DecryptionError, SecretCipher
from .sigv4 import SignatureClaim

K = TypeVar("K")
GuardedOperation = Callable[["GuardedActionCall"], Operation]

MOST_KEYS = 4096
# A key that nobody knows may be one that was made a moment ago.
UNKNOWN_KEY_SECONDS = 1.0

_KEY_ID = re.compile(r"[A-Za-z0-9]{16,128}").fullmatch
_log = logging.getLogger(__name__)


class GuardedAction(Protocol):
    """A row of the table of actions, as far as access is concerned."""

    @property
    def service(self) -> str: ...

    @property
    def name(self) -> str: ...

    @property
    def operation(self) -> Callable[[Any, Any], Generator[Effect, Any, Any]]: ...


class CredentialScope(Protocol):
    """What the request says of the region it is for."""

    @property
    def region(self) -> str: ...


class GuardedRequest(Protocol):
    """What a request asks for: known once its signature is verified."""

    @property
    def action(self) -> GuardedAction: ...

    @property
    def request(self) -> Any: ...

    @property
    def scope(self) -> CredentialScope: ...


class GuardedActionCall(Protocol):
    """A request that is read after its signature has been verified (`gateway.GuardedActionCall`)."""

    @property
    def context(self) -> RequestContext: ...

    def read(self) -> GuardedRequest: ...


class AccessRule(Protocol):
    """A rule about who may call."""

    def check(self, http: HttpRequest) -> GuardedOperation | None:
        """Before the request is read. Raises MissingAuthenticationToken, IncompleteSignature and the like.

        What it gives is the operation of the call, behind the rest of the rule; None: there is no more to check.
        """

    def check_native_request(self, context: RequestContext) -> Generator[Effect, Any, None]:
        """A request of the REST API. Raises MissingAuthenticationToken or InvalidClientTokenId."""


def access_rule(settings: Settings) -> AccessRule | None:
    """The rule of the settings; None: there is none. Raises SettingError when the encryption key is missing."""
    if settings.queue_access == "off":
        return None
    return RequireCredentials() if settings.queue_access == "presence" else RequireSignature(settings)


# Links in messages of SNS, which whoever got the message may follow (ConfirmSubscription, Unsubscribe, API reference).
PUBLIC_ACTIONS = frozenset(("ConfirmSubscription", "Unsubscribe"))
_PUBLIC_LINK = re.compile(
    rb"(?:.*&)?Action=(?:%s)(?:&.*)?" % b"|".join(name.encode() for name in sorted(PUBLIC_ACTIONS))
).fullmatch


def is_public_link(http: HttpRequest) -> bool:
    """Whether a request without credentials follows such a link."""
    unsigned = b"authorization" not in http.headers and b"X-Amz-" not in http.query
    return unsigned and b"x-amz-target" not in http.headers and _PUBLIC_LINK(http.query) is not None


def run_public_link(call: "GuardedActionCall") -> Operation:
    """The operation of a link. Raises MissingAuthenticationToken when the request turns out to be another one."""
    found = call.read()
    if found.action.service != "sns" or found.action.name not in PUBLIC_ACTIONS:
        raise MissingAuthenticationToken
    return (yield from found.action.operation(found.request, call.context))


class RequireCredentials:
    """Credentials must be there."""

    def check(self, http: HttpRequest) -> GuardedOperation | None:
        """An Authorization header, or X-Amz-Credential in the query string. Raises MissingAuthenticationToken."""
        if http.headers.get(b"authorization") or b"X-Amz-Credential=" in http.query:
            return None
        if not is_public_link(http):
            raise MissingAuthenticationToken
        return run_public_link

    def check_native_request(self, context: RequestContext) -> Generator[Effect, Any, None]:
        """Any Authorization header will do. Raises AccessDenied, which is 403: the specification's rule."""
        if not context.http.headers.get(b"authorization"):
            raise AccessDenied(MissingAuthenticationToken.default_message)
        yield from ()


# --- keys ------------------------------------------------------------------------------------------------------------
class AccessKey(NamedTuple):
    """A key that signs."""

    account_id: str
    secret: str


class BearerKey(NamedTuple):
    """A key that is shown. `secret_hash`: SHA-256."""

    account_id: str
    secret_hash: bytes


class KeyCache(Generic[K]):
    """Keys of one kind, each looked up once in `seconds`: so long a revoked one may still be good."""

    def __init__(self, statement: Statement, read: Callable[[str, Row], K], seconds: float) -> None:
        self._statement = statement
        self._read = read
        self._seconds = seconds
        self._known: dict[str, tuple[float, K]] = {}
        self._unknown: dict[str, float] = {}

    def find(self, key_id: str) -> Generator[Effect, Any, K | None]:
        """The key; None when it is unknown or revoked. What cannot be a key id is not looked up."""
        now = monotonic()
        known = self._known.get(key_id)
        if known is not None and now < known[0]:
            return known[1]
        if not _KEY_ID(key_id) or now < self._unknown.get(key_id, now):
            return None
        rows = yield Sql(self._statement, (key_id,))
        if not rows:
            self._known.pop(key_id, None)
            _remember(self._unknown, key_id, now + min(self._seconds, UNKNOWN_KEY_SECONDS))
            return None
        key = self._read(key_id, rows[0])
        _remember(self._known, key_id, (now + self._seconds, key))
        return key


def _remember(cache: dict[str, Any], key_id: str, value: Any) -> None:
    """Bounded: the one that was looked up longest ago makes room."""
    cache.pop(key_id, None)
    if len(cache) >= MOST_KEYS:
        del cache[next(iter(cache))]
    cache[key_id] = value


# --- signatures ------------------------------------------------------------------------------------------------------
class RequireSignature:
    """Requests must be signed with a key of ours."""

    def __init__(self, settings: Settings) -> None:
        self._cipher = SecretCipher(settings.queue_encryption_key)
        seconds = settings.queue_access_cache_seconds
        self._access_keys = KeyCache(FIND_ACCESS_KEY, self._access_key, seconds)
        self._bearer_keys = KeyCache(FIND_BEARER_KEY, _bearer_key, seconds)

    def check(self, http: HttpRequest) -> GuardedOperation:
        """What the request says of its signature; the guard finds out whether it is true."""
        if is_public_link(http):
            return run_public_link
        return partial(self._verify_and_run, sigv4.parse(http))

    def _verify_and_run(self, claim: SignatureClaim, call: "GuardedActionCall") -> Operation:
        """Verifies the signature, reads the request, asks the queue's policy; then the operation.

        The account is the key's. Nothing of the request but its signature is looked at before that is good.
        """
        context = call.context
        key = yield from self._access_keys.find(claim.access_key_id)
        if key is None:
            raise InvalidClientTokenId
        sigv4.verify(context.http, claim, key.secret, time())
        found = call.read()
        if claim.service != found.action.service:
            raise SignatureDoesNotMatch(
                f"Credential should be scoped to correct service: '{found.action.service}'."
            )
        if claim.region != found.scope.region:  # of a path that names one
            raise SignatureDoesNotMatch("Credential should be scoped to a valid region.")
        context.account_id, context.region = key.account_id, claim.region
        yield from authorize(found.action.service, found.action.name, found.request, context)
        return (yield from found.action.operation(found.request, context))

    def check_native_request(self, context: RequestContext) -> Generator[Effect, Any, None]:
        """`Authorization: Bearer <id>.<secret>` of a key of ours."""
        header = context.http.headers.get(b"authorization")
        if not header:
            raise MissingAuthenticationToken
        scheme, _, token = header.decode("latin-1").partition(" ")
        key_id, _, secret = token.strip().partition(".")
        key = (yield from self._bearer_keys.find(key_id)) if scheme.lower() == "bearer" else None
        if key is None or not hmac.compare_digest(hash_of_secret(secret), key.secret_hash):
            raise InvalidClientTokenId
        context.account_id = key.account_id

    def _access_key(self, key_id: str, row: Row) -> AccessKey:
        account_id, encrypted = row
        try:
            return AccessKey(account_id, self._cipher.open(bytes(encrypted), key_id, account_id))
        except DecryptionError as error:
            _log.error("access key was not made with this QUEUE_ENCRYPTION_KEY", extra={"key": key_id})
            raise InternalFailure from error


def _bearer_key(_key_id: str, row: Row) -> BearerKey:
    return BearerKey(row[0], bytes(row[1]))


def hash_of_secret(secret: str) -> bytes:
    """What is stored of a bearer key's secret; it is random, so no salt and no slow hash are needed."""
    return sha256(secret.encode("utf-8", "surrogatepass")).digest()
