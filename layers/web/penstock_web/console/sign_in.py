"""Manages the console's viewers, sessions and cookies. The cookie contains only a random id. A row in
`queue.console_session` maps the id's SHA-256 to the key's id. The console caches the row and the user's policies for
five seconds, or for QUEUE_ACCESS_CACHE_SECONDS if that time is shorter. Sessions of a revoked key therefore end within
five seconds. If QUEUE_ACCESS is `off`, the console does not require sign-in and does not store sessions.
"""

import secrets
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from hashlib import sha256
from http.cookies import CookieError, SimpleCookie
from time import monotonic
from typing import Final

from penstock.access.audit.acts import Act, record_act
from penstock.access.authentication import BEARER_PREFIX, AccessRule, RequireSignature
from penstock.access.failures import FailureCounter
from penstock.access.users import User, build_user
from penstock.context import Context, is_secure
from penstock.effects import Call, Operation
from penstock.errors import AccessDenied, InvalidClientTokenId, RequestThrottled
from penstock.postgres.statements.access import CLOSE_SESSION, FIND_SESSION, OPEN_SESSION, SessionRow

SESSION_SECONDS: Final = 12 * 3600
FRESH_SECONDS: Final = 5.0
MAX_SESSIONS: Final = 1024
MAX_ATTEMPTS, ATTEMPTS_SECONDS = 10, 60.0
"""The console counts failed sign-ins for each client address and key. After ten failures in a minute, the console
refuses the key from the address.
"""
MAX_KEY_ID_LENGTH: Final = 64
COOKIE: Final = "penstock_console"


@dataclass(frozen=True, slots=True)
class Viewer:
    """A user of the console. If QUEUE_ACCESS is `off`, `key_id` is None and the user has every right."""

    account_id: str
    user: User
    key_id: str | None = None

    @property
    def arn(self) -> str:
        """Returns the user's ARN, or the account root's ARN."""
        return self.user.principal.arn or ""

    @property
    def name(self) -> str:
        """Returns the user's name. Returns the account's id if the key belongs to the account itself."""
        return self.user.principal.user_name or self.account_id


class Sessions:
    """The process's cache of sessions, and its counts of failed sign-ins."""

    def __init__(self) -> None:
        self._known: dict[str, tuple[float, SessionRow]] = {}
        self.failures = FailureCounter(MAX_ATTEMPTS, ATTEMPTS_SECONDS)

    def find(self, session_id: str, seconds: float) -> Operation[SessionRow | None]:
        """Returns the row of a current session, or None if there is no such session. Caches the row for `seconds`."""
        now = monotonic()
        known = self._known.get(session_id)
        if known is None or now >= known[0]:
            rows = yield from Call(FIND_SESSION, (session_id,))
            self.forget(session_id)
            if not rows:
                return None
            if len(self._known) >= MAX_SESSIONS:
                del self._known[next(iter(self._known))]
            known = self._known[session_id] = now + seconds, rows[0]
        return known[1] if known[1].expires_at > datetime.now(UTC) else None

    def forget(self, session_id: str) -> None:
        """Removes a session from the cache."""
        self._known.pop(session_id, None)


def find_viewer(context: Context) -> Operation[Viewer | None]:
    """Returns the viewer, or None if there is no session. Sets the context's account and user."""
    if context.environment.access is None:
        return Viewer(context.account_id, build_user(context.account_id, None, None))
    session_id = read_session(context)
    if session_id is None:
        return None
    seconds = min(FRESH_SECONDS, context.environment.settings.queue_access_cache_seconds)
    row = yield from context.environment.cache(Sessions).find(session_id, seconds)
    if row is None:
        return None
    context.account_id = row.account_id
    context.user = build_user(row.account_id, row.user_name, row.policies)
    context.key_id = row.key_id
    return Viewer(row.account_id, context.user, row.key_id)


def open_session(key_id: str, secret: str, context: Context) -> Operation[str]:
    """Signs in with a key and returns the cookie's value.

    Raises InvalidClientTokenId, RequestThrottled and AccessDenied.
    """
    rule: AccessRule | None = context.environment.access
    if not isinstance(rule, RequireSignature):
        raise AccessDenied("This console has no sign-in, because QUEUE_ACCESS is not sigv4.")
    failures = context.environment.cache(Sessions).failures
    caller = f"{context.client_address} {key_id[:MAX_KEY_ID_LENGTH]}"
    if failures.is_exceeded(caller):
        raise RequestThrottled
    key = yield from rule.find_key(key_id, secret, context.client_address)
    if key is None:
        failures.add(caller)
        context.key_id = key_id
        raise InvalidClientTokenId
    value = secrets.token_urlsafe(32)
    kind = "bearer" if key_id.startswith(BEARER_PREFIX) else "access"
    context.account_id, context.user, context.key_id = key.account_id, key.user, key_id
    opening = iter(Call(OPEN_SESSION, (hash_cookie(value), kind, key_id, SESSION_SECONDS)))
    yield from record_act(Act("console:SignIn", key_id), opening, context)
    return value


def close_session(context: Context) -> Operation[None]:
    """Deletes the request's session if the session exists."""
    session_id = read_session(context)
    if session_id is not None:
        context.environment.cache(Sessions).forget(session_id)
        yield from Call(CLOSE_SESSION, (session_id,))


# --- cookies ---------------------------------------------------------------------------------------------------------
def hash_cookie(value: str) -> str:
    """Returns the id of the session for a cookie's value. The hash needs no salt, because the value is random."""
    return sha256(value.encode("utf-8", "surrogatepass")).hexdigest()


def read_session(context: Context) -> str | None:
    """Returns the request's session id, or None if the request has no cookie of the console."""
    try:
        cookies = SimpleCookie(context.http.headers.get(b"cookie", b"").decode("latin-1"))
    except CookieError:
        return None
    found = cookies.get(cookie_name(context.http.headers))
    return hash_cookie(found.value) if found is not None and found.value else None


def cookie_name(headers: Mapping[bytes, bytes]) -> str:
    """Returns the cookie's name. The name contains the port, because all ports of a host share cookies."""
    port = headers.get(b"host", b"").rpartition(b":")[2]
    return f"{COOKIE}_{port.decode()}" if port.isdigit() else COOKIE


def is_https(context: Context) -> bool:
    """Returns whether the browser used TLS, according to a trusted proxy or QUEUE_BASE_URL."""
    headers, settings = context.http.headers, context.environment.settings
    return is_secure(headers, settings) or context.base_url.startswith("https:")


def set_cookie(value: str, context: Context) -> str:
    """Returns the value of Set-Cookie for the session. An empty `value` removes the cookie."""
    return build_cookie(cookie_name(context.http.headers), value, SESSION_SECONDS, context)


def build_cookie(name: str, value: str, seconds: int, context: Context) -> str:
    """Returns the value of Set-Cookie for a cookie of the console that ends after `seconds`. An empty `value` removes
    the cookie."""
    secure = "; Secure" if is_https(context) else ""
    return f"{name}={value}; Path=/console; Max-Age={seconds if value else 0}; HttpOnly; SameSite=Strict{secure}"
