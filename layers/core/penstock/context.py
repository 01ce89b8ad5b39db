"""The context of a request: the caller's account and region, and the addresses of queues.

A queue has three addresses: a name, a QueueUrl for clients (`queue_url`) and an ARN for SQL and policies. The module
converts between the three addresses of a queue. The caller must be able to reach the QueueUrl, so Penstock builds the
QueueUrl from the request's Host unless a base URL is configured. Penstock accepts QueueUrls with any host
(docs/reference/compatibility.md).
"""

import re
from collections.abc import Mapping
from enum import Enum
from functools import lru_cache
from urllib.parse import unquote_to_bytes

from .access.sigv4 import CredentialScope, parse_query_pairs
from .access.users import Actor, User, build_user, build_user_arn
from .aws import queue_url
from .aws.arn import is_account_id, is_region
from .aws.codec.protocol import Protocol
from .aws.named_queue import NamedQueue
from .environment import Environment
from .errors import QueueDoesNotExist, SignatureDoesNotMatch
from .http import HttpRequest
from .observing.trace_context import find_message_trace_header
from .settings import Settings

_KEY_ID = re.compile(rb"Credential=([A-Za-z0-9_]{1,128})(?:/|%2F)").search


class Interface(Enum):
    """The API that received the request. CLI is the command line, which calls the REST API."""

    AWS = "aws"
    REST = "rest"
    CONSOLE = "console"
    MCP = "mcp"
    CLI = "cli"


class Context(Actor):
    """The caller's account and region, the request's id, and the environment of the process.

    `user` is the signer of the request, or None if no signature was required. `protocol` is the response's protocol.
    `interface` is the API that received the request. `key_id` is the key that admitted the request.
    """

    __slots__ = (
        "_base_url",
        "account_id",
        "environment",
        "http",
        "interface",
        "key_id",
        "protocol",
        "region",
        "request_id",
        "user",
    )  # fmt: skip

    def __init__(
        self,
        account_id: str,
        region: str,
        request_id: str,
        environment: Environment,
        http: HttpRequest,
        protocol: Protocol = Protocol.JSON,
    ) -> None:
        self.account_id = account_id
        self.region = region
        self.request_id = request_id
        self.environment = environment
        self.http = http
        self.protocol = protocol
        self.interface = Interface.AWS
        self.key_id: str | None = None
        self._base_url: str | None = None
        self.user: User | None = None

    @property
    def caller(self) -> User:
        """Returns the user, which is the account's root user if no signature was required."""
        return self.user or build_user(self.account_id, None, None)

    @property
    def interface_name(self) -> str:
        """Returns the API's name in the audit log."""
        return self.interface.value

    @property
    def shows_policy_names(self) -> bool:
        """Returns whether errors spell actions as policies do. Other errors spell actions as the AWS service does."""
        return self.interface is not Interface.AWS

    @property
    def caller_arn(self) -> str:
        """Returns the caller's ARN. If no signature was checked, the ARN ends in `user/` and the request's key id."""
        principal = self.caller.principal
        key_id = None if self.user is not None else read_key_id(self.http)
        return build_user_arn(self.account_id, key_id) if key_id else principal.arn or ""

    @property
    def client_address(self) -> str:
        """Returns the client's IP address, or an empty string if it is unknown."""
        return find_client_address(self.http.headers, self.http.peer, self.environment.settings)

    @property
    def condition_keys(self) -> dict[str, str]:
        """Returns the condition keys, in lower case, and values that policies compare."""
        settings = self.environment.settings
        principal = self.caller.principal
        keys = {
            "aws:principalaccount": self.account_id,
            "aws:principalarn": principal.arn or "",
            "aws:securetransport": "true" if is_secure(self.http.headers, settings) else "false",
        }
        if address := self.client_address:
            keys["aws:sourceip"] = address
        if principal.user_name:
            keys["aws:username"] = principal.user_name
        return keys

    @property
    def base_url(self) -> str:
        """Returns the scheme and authority that the caller used, without a trailing slash."""
        if self._base_url is None:
            self._base_url = find_base_url(self.http.headers, self.environment)
        return self._base_url

    @property
    def link_base_url(self) -> str:
        """Returns the base URL of links in SNS messages. Other users open the links, so the caller must not choose the
        host.

        The base is QUEUE_BASE_URL, if it is set. Without QUEUE_BASE_URL, the base is the request's host if the host is
        in the settings or API Gateway serves the host. If QUEUE_ACCESS has admitted the caller, the base is the
        request's host if the service accepts the host. With QUEUE_ACCESS=sigv4, unsigned Unsubscribe requests do not
        count as admitted, because anyone can send such requests. In all other cases the base is the address on which
        the process listens.
        """
        settings, hosts = self.environment.settings, self.environment.hosts
        if settings.queue_base_url:
            return self.base_url
        headers = self.http.headers
        host = request_host(headers, self.environment)
        is_admitted = self.user is not None or settings.queue_access != "sigv4"
        if hosts.names(host) or (is_admitted and hosts.allows(host)):
            return self.base_url
        if self.http.host_checked and host == headers.get(b"host"):
            return self.base_url
        local = f"http://{settings.local_authority}"
        if local != self.base_url:
            hosts.warn_of_links(local)
        return local

    @property
    def trace_header(self) -> str | None:
        """Returns the AWSTraceHeader for messages without an AWSTraceHeader, or None if the request has no trace."""
        return find_message_trace_header(self.http.headers)

    def queue_url(self, name: str, account_id: str | None = None, region: str | None = None) -> str:
        """Returns a queue's QueueUrl. The default account and region are the request's account and region."""
        path = queue_url.build_path(
            region or self.region, account_id or self.account_id, name, self.environment.settings.queue_region
        )
        return f"{self.base_url}{path}"

    def queue_arn(self, url: str) -> str:
        """Returns the ARN of the queue at a QueueUrl. Raises the errors of `queue`."""
        return self.queue(url).arn

    def queue(self, url: str) -> NamedQueue:
        """Returns the queue at a QueueUrl, in the URL's region. A bare name means a queue of the caller.

        Raises QueueDoesNotExist if no queue can have this address.
        """
        if len(url) > queue_url.MAX_URL_LENGTH:
            raise QueueDoesNotExist
        settings = self.environment.settings
        queue = queue_url.resolve(url, self.account_id, self.region, settings.queue_region, settings.queue_regions)
        if queue is None:
            raise QueueDoesNotExist
        return queue


def read_key_id(http: HttpRequest) -> str | None:
    """Returns the access key id in the request's header or presigned URL, or None."""
    given = http.headers.get(b"authorization", b"") + b"&" + http.query
    found = _KEY_ID(given)
    return found[1].decode() if found else None


def find_base_url(headers: Mapping[bytes, bytes], environment: Environment) -> str:
    """Returns the configured base URL, the trusted forwarded address, or the request's Host."""
    settings = environment.settings
    if settings.queue_base_url:
        return settings.queue_base_url.rstrip("/")
    host = request_host(headers, environment).decode("latin-1")
    return f"{'https' if is_secure(headers, settings) else 'http'}://{host or settings.queue_address}"


def request_host(headers: Mapping[bytes, bytes], environment: Environment) -> bytes:
    """Returns the host that the client sent to a trusted proxy or to Penstock."""
    return environment.hosts.forwarded(headers) or headers.get(b"host", b"")


def is_secure(headers: Mapping[bytes, bytes], settings: Settings) -> bool:
    """Returns whether the load balancer or API Gateway reports an encrypted client connection."""
    return settings.queue_trust_forwarded and _take_first(headers.get(b"x-forwarded-proto")) == b"https"


def find_client_address(headers: Mapping[bytes, bytes], peer: str, settings: Settings) -> str:
    """Returns the client's IP address, or an empty string if the address is unknown. A load balancer appends the
    client's address to X-Forwarded-For."""
    forwarded = headers.get(b"x-forwarded-for") if settings.queue_trust_forwarded else None
    if forwarded is None:
        return peer
    return forwarded.rpartition(b",")[2].strip().decode("latin-1")


def _take_first(value: bytes | None) -> bytes:
    """Returns the first entry of a forwarded header. The client's entry is first, because each proxy appends an
    entry."""
    return b"" if value is None else value.partition(b",")[0].strip()


# --- the scope of a signature, which names the caller ----------------------------------------------------------------
# The scope is not verified here. Without QUEUE_ACCESS=sigv4, an access key id of 12 digits selects the account.
MAX_SCOPE_BYTES = 512  # the cache holds scopes, and no client sends a longer scope


def read_header_scope(headers: Mapping[bytes, bytes], environment: Environment) -> CredentialScope | None:
    """Reads Authorization: AWS4-HMAC-SHA256 Credential=<scope>, SignedHeaders=…, Signature=… (SigV4)."""
    header = headers.get(b"authorization")
    if header is None:
        return None
    _, separator, rest = header.partition(b"Credential=")
    return _parse_known_scope(rest.partition(b",")[0].strip(), environment) if separator else None


def read_query_scope(tree: Mapping[str, object], environment: Environment) -> CredentialScope | None:
    """Reads X-Amz-Credential of a presigned URL."""
    scope = tree.get("X-Amz-Credential")
    return _parse_known_scope(scope.encode(), environment) if isinstance(scope, str) else None


def read_any_scope(http: HttpRequest, environment: Environment) -> CredentialScope:
    """Reads the scope of a request that has no form: of the header, of a presigned URL, or the default."""
    return (
        read_header_scope(http.headers, environment)
        or _read_presigned_scope(http, environment)
        or build_default_scope(environment)
    )


def _read_presigned_scope(http: HttpRequest, environment: Environment) -> CredentialScope | None:
    """Reads X-Amz-Credential of a presigned URL of REST-JSON or CBOR."""
    scope = next((value for name, value in parse_query_pairs(http.query) if name == b"X-Amz-Credential"), None)
    return None if scope is None else _parse_known_scope(scope, environment)


def _parse_known_scope(scope: bytes, environment: Environment) -> CredentialScope | None:
    """Parses a scope. Raises SignatureDoesNotMatch for a region that the installation does not serve."""
    settings = environment.settings
    if len(scope) > MAX_SCOPE_BYTES:
        return None
    found = parse_scope(scope, settings.queue_account_id, settings.queue_region)
    if found is not None:
        check_region(found.region, settings)
    return found


def check_region(region: str, settings: Settings) -> None:
    """Raises SignatureDoesNotMatch for another region's scope, as AWS's endpoints do (aws-sdk-ruby 508)."""
    if settings.queue_regions and not settings.serves(region):
        raise SignatureDoesNotMatch(
            f"Credential should be scoped to a valid region, not '{region}'.",
            f"This installation serves these regions (QUEUE_REGIONS): {settings.queue_regions}.",
        )


@lru_cache(maxsize=1024)
def parse_scope(scope: bytes, default_account_id: str, default_region: str) -> CredentialScope | None:
    """Parses `AKID/20250101/us-east-1/sqs/aws4_request`. An access key id of 12 digits is an account id.

    Returns None if the text is not a scope. The function caches results, because a client sends the same scope with
    every request.
    """
    parts = unquote_to_bytes(scope).decode("latin-1").rsplit("/", 4)
    if len(parts) != 5:
        return None
    key, _, region, service, _ = parts
    account_id = key if is_account_id(key) else default_account_id
    return CredentialScope(account_id, region if is_region(region) else default_region, service)


def build_default_scope(environment: Environment) -> CredentialScope:
    return CredentialScope(environment.settings.queue_account_id, environment.settings.queue_region, "")
