"""Reads the credential scope of a request: the account, the region and the service that the caller names.

The scope is not verified here. Without QUEUE_ACCESS=sigv4, an access key id of 12 digits selects the account.
"""

from collections.abc import Mapping
from functools import lru_cache
from urllib.parse import unquote_to_bytes

from .access.sigv4 import CredentialScope, query_pairs
from .aws.arn import is_account_id, is_region
from .aws.codec.query import Tree
from .environment import Environment
from .errors import SignatureDoesNotMatch
from .http import HttpRequest
from .settings import Settings

MAX_SCOPE_BYTES = 512  # the cache holds scopes, and no client sends a longer scope


def read_header_scope(headers: Mapping[bytes, bytes], environment: Environment) -> CredentialScope | None:
    """Reads Authorization: AWS4-HMAC-SHA256 Credential=<scope>, SignedHeaders=…, Signature=… (SigV4)."""
    header = headers.get(b"authorization")
    if header is None:
        return None
    _, separator, rest = header.partition(b"Credential=")
    return _parse_known_scope(rest.partition(b",")[0].strip(), environment) if separator else None


def read_query_scope(tree: Tree, environment: Environment) -> CredentialScope | None:
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
    scope = next((value for name, value in query_pairs(http.query) if name == b"X-Amz-Credential"), None)
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
