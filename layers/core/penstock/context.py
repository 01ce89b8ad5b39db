"""What an operation knows about its request: who calls, from where, and how a queue is addressed.

A queue has three addresses: its name, its QueueUrl (for the client) and its ARN (for SQL and for policies). They are
turned into each other here, so that a QueueUrl is always reachable by *this* caller: it is built from the request's
own Host, unless a base URL is configured (aws-behaviour: any host is accepted on input).
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from itertools import count
from typing import TYPE_CHECKING
from uuid import uuid4

from msgspec import Struct, structs

from penstock.aws.arn import is_account_id, queue_arn
from penstock.sns.signatures import KeptKey

from .errors import InvalidAddress, QueueDoesNotExist
from .trace_context import message_header

if TYPE_CHECKING:
    from penstock.access.authentication import Access

    from .receipt_handle import Receipts
    from .settings import Settings


# Longer bodies are not kept for longer than they are needed. uvicorn reads as much before anybody asks for it.
LONG_BODY_BYTES = 65_536


class HttpRequest(Struct, frozen=True):
    """A request as the server or API Gateway gave it. Header names are lower case; `query` is still encoded."""

    method: str
    path: str
    query: bytes
    headers: Mapping[bytes, bytes]
    body: bytes

    @property
    def head(self) -> "HttpRequest":
        """Without a long body: for as long as the request takes, who has read it needs it no more."""
        return self if len(self.body) <= LONG_BODY_BYTES else structs.replace(self, body=b"")


class HttpResponse(Struct, frozen=True):
    """An answer: its headers lack Content-Length, which the server adds."""

    status: int
    headers: list[tuple[bytes, bytes]]
    body: bytes


class RequestIds:
    """Request ids of one process, in the form of a UUID: random up to the last group, which counts.

    20 times cheaper than a random UUID each; unique because every process draws its own 80 random bits.
    """

    def __init__(self) -> None:
        self._prefix = str(uuid4())[:24]
        self._next = count(1).__next__

    def __call__(self) -> str:
        return f"{self._prefix}{self._next():012x}"


@dataclass(frozen=True, slots=True)
class Environment:
    """What is made once per process (after a fork, not before) and shared by its requests."""

    settings: "Settings"
    receipts: "Receipts"
    request_ids: RequestIds = field(default_factory=RequestIds)
    access: "Access | None" = field(init=False)
    signing: KeptKey = field(default_factory=KeptKey)

    def __post_init__(self) -> None:
        # Made here and nowhere else: no entry point can forget it. Raises SettingError.
        object.__setattr__(self, "access", _access_of(self.settings))


def _access_of(settings: "Settings") -> "Access | None":
    if settings.queue_access == "off":
        return None
    from penstock.access.authentication import access_of  # noqa: PLC0415 - 15 ms, for those who want it

    return access_of(settings)


class Context:
    """One request: the caller's account and region, the request's id, and the process it runs in."""

    __slots__ = ("_base_url", "account_id", "environment", "http", "region", "request_id")

    def __init__(
        self, account_id: str, region: str, request_id: str, environment: Environment, http: HttpRequest
    ) -> None:
        self.account_id = account_id
        self.region = region
        self.request_id = request_id
        self.environment = environment
        self.http = http
        self._base_url: str | None = None

    @property
    def base_url(self) -> str:
        """Scheme and authority under which this caller reached us, without a trailing slash."""
        if self._base_url is None:
            self._base_url = base_url(self.http.headers, self.environment.settings)
        return self._base_url

    @property
    def trace_header(self) -> str | None:
        """AWSTraceHeader for the messages of this request that bring none; None: it belongs to no trace."""
        return message_header(self.http.headers)

    def queue_url(self, name: str, account_id: str | None = None) -> str:
        """The QueueUrl of a queue of this account (or another)."""
        return f"{self.base_url}/{account_id or self.account_id}/{name}"

    def queue_arn(self, queue_url: str) -> str:
        """The ARN of the queue at `queue_url`: its last two path segments, in the region of the request.

        A slash at the end is fine (AWS's own examples have one); a bare queue name means the caller's own account.
        Raises InvalidAddress when there is no account in it, QueueDoesNotExist when no queue can have that name.
        """
        head, slash, name = queue_url.removesuffix("/").rpartition("/")
        account_id = head.rpartition("/")[2] if slash else self.account_id
        arn = queue_arn(self.region, account_id, name)
        if arn is None:
            raise QueueDoesNotExist() if is_account_id(account_id) and name else InvalidAddress.of(queue_url)
        return arn


def base_url(headers: Mapping[bytes, bytes], settings: "Settings") -> str:
    """The configured base URL; else the forwarded address, when it is trusted; else the request's own Host."""
    if settings.queue_base_url:
        return settings.queue_base_url.rstrip("/")
    scheme, host = b"http", headers.get(b"host", b"")
    if settings.queue_trust_forwarded:
        scheme = _first(headers.get(b"x-forwarded-proto")) or scheme
        host = _first(headers.get(b"x-forwarded-host")) or host
    return f"{scheme.decode('latin-1')}://{host.decode('latin-1') or settings.queue_address}"


def _first(value: bytes | None) -> bytes:
    """The client's own entry of a forwarded header: each proxy appends its own."""
    return b"" if value is None else value.partition(b",")[0].strip()
