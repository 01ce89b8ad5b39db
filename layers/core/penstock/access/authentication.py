"""Authenticates requests according to QUEUE_ACCESS.

With `off`, any client can call. The service creates no AccessRule and checks no credentials.

With `presence`, any client that sends credentials can call. The service does not verify the credentials.

With `sigv4`, clients must sign with an access key of the installation. In the REST API, clients send a bearer key. The
request's account is the account that owns the key. Policies control access to other accounts' queues.

An access rule checks credentials in two steps. `check` performs no I/O and runs before the request is decoded. `check`
returns a guard, which becomes part of the operation. The guard looks up keys with effects, so every driver can run the
guard.
"""

import hmac
import logging
import re
from collections.abc import Callable
from datetime import UTC, datetime
from enum import Enum, auto
from functools import partial
from hashlib import sha256
from time import monotonic, time
from typing import Any, Generic, NamedTuple, Protocol, TypeVar

from msgspec import Struct

from penstock.effects import LONG_DIGEST_BYTES, Call, Compute, Operation, compute
from penstock.errors import (
    AccessDenied,
    AwsError,
    InvalidClientTokenId,
    MissingAuthenticationToken,
    RequestThrottled,
    SignatureDoesNotMatch,
)
from penstock.http import HttpRequest
from penstock.postgres.statement import Row, Statement
from penstock.postgres.statements.access import FIND_ACCESS_KEY, FIND_BEARER_KEY, AccessKeyRow, BearerKeyRow
from penstock.settings import Settings

from . import sigv4
from .audit.refusals import note_refusal
from .authorization import AuthorizedAction, authorize
from .context import RequestContext
from .failures import FailureCounter, rate_limit_key
from .public_links import PUBLIC_ACTIONS, is_public_link
from .quotas import check_rate
from .resources import NO_TOKENS
from .secret_encryption import DecryptionError, SecretCipher
from .sigv4 import CredentialScope, SignatureClaim
from .users import User, build_user

V = TypeVar("V")
RowT = TypeVar("RowT", bound=Row)
AnyOperation = Operation[Struct | None]
GuardedOperation = Callable[["GuardedCall"], AnyOperation]

# Key prefixes. The prefixes distinguish Penstock's keys from AWS's keys, and help scanners to find leaked keys.
ACCESS_PREFIX, BEARER_PREFIX = "PSTK", "PSTB"
MAX_KEYS = 4096
# The time for which the process remembers that a key does not exist. The time is short because a user can create the
# key at any moment.
UNKNOWN_KEY_SECONDS = 1.0
OTHER_ENCRYPTION_KEY = "The access key was encrypted with a different QUEUE_ENCRYPTION_KEY than the service now has."

_KEY_ID = re.compile(r"[A-Za-z0-9]{16,128}").fullmatch
_BEARER = re.compile(rb"(?i:bearer) +(.*)").fullmatch
MAX_HEADER_LENGTH = 1_024
UNKNOWN_CALLERS = "(unknown keys)"
"""The shared caller name of all requests whose key is unknown or not yet verified."""
_log = logging.getLogger(__name__)


class Api(Enum):
    """The API that the head of a request selects."""

    AWS = auto()
    REST = auto()
    OTHER = auto()  # pages, MCP, metrics


class GuardedAction(AuthorizedAction, Protocol):
    """The columns of an action's row that authentication reads."""

    @property
    def operation(self) -> Callable[[Struct, Any], AnyOperation]: ...


class GuardedRequest(Protocol):
    """A decoded request. The service has verified the request's signature."""

    @property
    def action(self) -> GuardedAction: ...

    @property
    def request(self) -> Struct: ...

    @property
    def scope(self) -> CredentialScope: ...


class GuardedCall(Protocol):
    """A request that is decoded after its signature has been verified (`gateway.GuardedActionCall`)."""

    @property
    def context(self) -> RequestContext: ...

    def read(self) -> GuardedRequest: ...


class AccessRule(Protocol):
    """Checks requests as one value of QUEUE_ACCESS requires."""

    def check(self, http: HttpRequest) -> GuardedOperation | None:
        """Checks a request before it is decoded. Returns a function that wraps a call in the guard, or None if the call
        needs no guard.

        Raises MissingAuthenticationToken, IncompleteSignature and other authentication errors.
        """

    def check_rest_request(self, context: RequestContext) -> Operation[None]:
        """Checks a REST API request. Raises MissingAuthenticationToken or InvalidClientTokenId."""

    def find_caller(self, head: HttpRequest, api: Api, address: str, /) -> Operation[str | None]:
        """Returns the name under which the service counts the memory for a long body, or None to use the client's
        address.

        `head` is the request before the body arrives. Raises an error if the service would refuse the request with any
        body.
        """


def build_access_rule(settings: Settings) -> AccessRule | None:
    """Returns the access rule that the settings select, or None for `off`. Raises SettingError if the encryption key is
    missing."""
    if settings.queue_access == "off":
        return None
    return RequireCredentials() if settings.queue_access == "presence" else RequireSignature(settings)


def run_public_link(call: "GuardedCall") -> AnyOperation:
    check_rate(call.context, len(call.context.http.body))
    decoded = call.read()
    if decoded.action.label not in PUBLIC_ACTIONS:
        raise MissingAuthenticationToken
    return (yield from decoded.action.operation(decoded.request, call.context))


class RequireCredentials:
    """Implements QUEUE_ACCESS=presence, which requires credentials. The service accepts any credentials."""

    def find_caller(self, head: HttpRequest, api: Api, _: str, /) -> Operation[None]:
        """Returns None, because the client's address identifies the caller. Raises MissingAuthenticationToken or
        AccessDenied."""
        if api is Api.AWS:
            self.check(head)
        elif api is Api.REST and not head.headers.get(b"authorization"):
            raise AccessDenied(MissingAuthenticationToken.default_message)
        yield from ()

    def check(self, http: HttpRequest) -> GuardedOperation | None:
        """Reads the Authorization header, or X-Amz-Credential in the query. Raises MissingAuthenticationToken."""
        if http.headers.get(b"authorization") or b"X-Amz-Credential=" in http.query:
            return None
        if not is_public_link(http):
            raise MissingAuthenticationToken
        return run_public_link

    def check_rest_request(self, context: RequestContext) -> Operation[None]:
        """Accepts any Authorization header. Raises AccessDenied (status 403, as the REST API specifies) if the header
        is missing."""
        if not context.http.headers.get(b"authorization"):
            raise AccessDenied(MissingAuthenticationToken.default_message)
        yield from ()


# --- keys ------------------------------------------------------------------------------------------------------------
class Key(NamedTuple):
    """A valid key and its owner. The `secret` of a bearer key is a hash."""

    user: User
    secret: bytes
    expires_at: datetime | None

    @property
    def account_id(self) -> str:
        """Returns the account that owns the key."""
        return self.user.principal.account_id or ""


class KeyCache(Generic[RowT]):
    """Caches keys of one kind for `seconds`. The service can therefore accept a revoked key for up to `seconds`."""

    def __init__(self, statement: Statement[RowT], read: Callable[[str, RowT], Key], seconds: float) -> None:
        self._statement = statement
        self._read = read
        self._seconds = seconds
        self._known: dict[str, tuple[float, Key]] = {}
        self._unknown: dict[str, float] = {}
        self._failures = FailureCounter()

    def find(self, key_id: str, address: str) -> Operation[Key | None]:
        """Returns the key, or None if the key is unknown, expired or revoked. Does not look up a malformed key id.

        Raises RequestThrottled for an unknown key after too many unknown keys from the same address.
        """
        now = monotonic()
        known = self._known.get(key_id)
        if known is not None and now < known[0]:
            key = known[1]
            return None if key.expires_at is not None and key.expires_at <= datetime.now(UTC) else key
        if not _KEY_ID(key_id) or now < self._unknown.get(key_id, now):
            self._failures.add(address)
            return None
        if known is None and self._failures.is_exceeded(address):
            raise RequestThrottled
        rows = yield from Call(self._statement, (key_id,))
        if not rows:
            self._known.pop(key_id, None)
            self._failures.add(address)
            _remember(self._unknown, key_id, now + min(self._seconds, UNKNOWN_KEY_SECONDS))
            return None
        (row,) = rows
        key = self._read(key_id, row)
        _remember(self._known, key_id, (now + self._seconds, key))
        return key


def _remember(cache: dict[str, V], key_id: str, value: V) -> None:
    cache.pop(key_id, None)
    if len(cache) >= MAX_KEYS:
        del cache[next(iter(cache))]
    cache[key_id] = value


def _describe_origin(key_id: str, address: str) -> str:
    return f"{key_id} {rate_limit_key(address)}"


# --- signatures ------------------------------------------------------------------------------------------------------
class RequireSignature:
    """Implements QUEUE_ACCESS=sigv4, which requires a signature with a key of the installation."""

    def __init__(self, settings: Settings) -> None:
        self._cipher = SecretCipher(settings.queue_encryption_key)
        seconds = settings.queue_access_cache_seconds
        self._access_keys = KeyCache(FIND_ACCESS_KEY, self._read_access_key, seconds)
        self._bearer_keys = KeyCache(FIND_BEARER_KEY, read_bearer_key, seconds)
        # Each entry `<key id> <network>` means that a request with a verified signature came from the network.
        self._verified: dict[str, bool] = {}

    def check(self, http: HttpRequest) -> GuardedOperation:
        """Parses the signature and returns the guard that verifies it."""
        if is_public_link(http):
            return run_public_link
        if is_unsigned_token_request(http):
            raise AccessDenied(NO_TOKENS)
        return partial(self._verify_and_run, sigv4.parse(http))

    def _verify_and_run(self, claim: SignatureClaim, call: "GuardedCall") -> AnyOperation:
        """Verifies the signature, decodes the request, evaluates the policies, and runs the operation.

        The key's owner is the account. Until the signature is verified, the method reads only the signature. Raises
        RequestThrottled if the account exceeds its request rate.
        """
        context = call.context
        try:
            key = yield from self._access_keys.find(claim.access_key_id, context.client_address)
            if key is None:
                raise InvalidClientTokenId
            rate = context.environment.request_rate
            if rate is not None:
                # The rule refuses a throttled account's requests before it verifies their signatures.
                rate.check_before(key.account_id)
            body_bytes = len(context.http.body)
            verified = partial(sigv4.verify, context.http, claim, key.secret.decode(), time())
            yield from compute(verified, body_bytes, LONG_DIGEST_BYTES)
            origin = _describe_origin(claim.access_key_id, context.client_address)
            if origin not in self._verified:
                _remember(self._verified, origin, True)
            context.account_id, context.region, context.user = key.account_id, claim.region, key.user
            context.key_id = claim.access_key_id
            check_rate(context, body_bytes)
            decoded = (yield from Compute(call.read)) if context.http.takes_long else call.read()
            if claim.service != decoded.action.service:
                raise SignatureDoesNotMatch(
                    f"Credential should be scoped to correct service: '{decoded.action.service}'."
                )
            if claim.region != decoded.scope.region:  # a path can name another region
                raise SignatureDoesNotMatch("Credential should be scoped to a valid region.")
            yield from authorize(decoded.action, decoded.request, context)
            return (yield from decoded.action.operation(decoded.request, context))
        except AwsError as error:
            context.key_id = claim.access_key_id
            yield from note_refusal(error, context, f"{claim.service}:*")
            raise

    def check_rest_request(self, context: RequestContext) -> Operation[None]:
        """Requires `Authorization: Bearer <id>.<secret>` with a valid bearer key."""
        header = context.http.headers.get(b"authorization")
        if not header:
            raise MissingAuthenticationToken
        scheme, _, token = header.decode("latin-1").partition(" ")
        key_id, _, secret = token.strip().partition(".")
        key = None
        context.key_id = key_id
        if scheme.lower() == "bearer":
            key = yield from self._bearer_keys.find(key_id, context.client_address)
        if key is None or not hmac.compare_digest(hash_secret(secret), key.secret):
            raise InvalidClientTokenId
        context.account_id, context.user = key.account_id, key.user

    def find_caller(self, head: HttpRequest, api: Api, address: str, /) -> Operation[str]:
        """Returns the request's key id if an earlier request with this key came from the same network and had a correct
        signature. The service verifies the request's own signature later, because the body has not arrived.

        Returns UNKNOWN_CALLERS for the remaining signed requests, for public links, and for pages without a bearer key.
        The service reads a page's cookies later. Raises MissingAuthenticationToken, InvalidClientTokenId and other
        authentication errors.
        """
        header = head.headers.get(b"authorization", b"")
        if api is Api.AWS:
            if is_public_link(head):
                return UNKNOWN_CALLERS
            key_id = sigv4.parse(head).access_key_id
            if (yield from self._access_keys.find(key_id, address)) is None:
                raise InvalidClientTokenId
            return key_id if _describe_origin(key_id, address) in self._verified else UNKNOWN_CALLERS
        if api is Api.REST and not header:
            raise MissingAuthenticationToken
        bearer = _BEARER(header[:MAX_HEADER_LENGTH])
        key_id, _, secret = bearer[1].decode("latin-1").strip().partition(".") if bearer else ("", "", "")
        if bearer and (yield from self.find_key(key_id, secret, address)) is not None:
            return key_id
        if api is Api.REST:
            raise InvalidClientTokenId
        return UNKNOWN_CALLERS

    def find_key(self, key_id: str, secret: str, address: str) -> Operation[Key | None]:
        """Returns the access key or bearer key with this id and secret. Raises the errors of `KeyCache.find`."""
        if key_id.startswith(BEARER_PREFIX):
            key = yield from self._bearer_keys.find(key_id, address)
            given = hash_secret(secret)
        else:
            key = yield from self._access_keys.find(key_id, address)
            given = secret.encode("utf-8", "surrogatepass")
        return key if key is not None and hmac.compare_digest(given, key.secret) else None

    def _read_access_key(self, key_id: str, row: AccessKeyRow) -> Key:
        try:
            secret = self._cipher.decrypt(bytes(row.sealed_secret), key_id, row.account_id)
            return Key(build_user(row.account_id, row.user_name, row.policies), secret.encode(), row.expires_at)
        except DecryptionError as error:
            _log.error("access key was not made with this QUEUE_ENCRYPTION_KEY", extra={"key": key_id})
            raise InvalidClientTokenId(OTHER_ENCRYPTION_KEY) from error


def is_unsigned_token_request(http: HttpRequest) -> bool:
    """Returns whether a request is AssumeRoleWithWebIdentity. SDKs do not sign AssumeRoleWithWebIdentity."""
    if b"authorization" in http.headers:
        return False
    return b"Action=AssumeRoleWithWebIdentity" in http.body[:4_096] or http.path.endswith("/AssumeRoleWithWebIdentity")


def read_bearer_key(_: str, row: BearerKeyRow) -> Key:
    return Key(build_user(row.account_id, row.user_name, row.policies), bytes(row.secret_hash), row.expires_at)


def hash_secret(secret: str) -> bytes:
    """Returns the hash that the database stores. The secret is random, so it needs neither a salt nor a slow hash."""
    return sha256(secret.encode("utf-8", "surrogatepass")).digest()
