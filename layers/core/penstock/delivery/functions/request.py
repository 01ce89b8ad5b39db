"""Builds the URLs of requests to Lambda, and signs the requests if this process has botocore and AWS credentials.

Emulators accept unsigned requests.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import TYPE_CHECKING
from urllib.parse import quote

from penstock.aws.function_arn import FunctionArn

if TYPE_CHECKING:
    from botocore.credentials import Credentials


class NotSigned(OSError):  # noqa: N818 - named for the event
    """The process's credentials are unavailable, because the credentials service does not respond or refuses the
    request."""


@cache
def _find_credentials() -> Credentials | None:
    """Finds AWS credentials in botocore's usual places, once per process."""
    try:
        from botocore.session import get_session  # noqa: PLC0415 - optional, and takes 0.1 s
    except ModuleNotFoundError:
        return None
    credentials: Credentials | None = get_session().get_credentials()
    return credentials


def sign_request(method: str, url: str, region: str, body: bytes, headers: Mapping[str, str]) -> Mapping[str, str]:
    """Returns the headers, with Signature Version 4 if this process has credentials. Raises NotSigned."""
    try:
        credentials = _find_credentials()
        if credentials is None:
            return headers
        from botocore.auth import SigV4Auth  # noqa: PLC0415
        from botocore.awsrequest import AWSRequest  # noqa: PLC0415

        request = AWSRequest(method, url, data=body, headers=headers)
        SigV4Auth(credentials, "lambda", region).add_auth(request)
        return dict(request.headers.items())
    except Exception as error:  # botocore's errors have no common base class, and the library requests raises some
        raise NotSigned(f"no AWS credentials: {error}") from error


def forget_missing_credentials() -> None:
    """If the last search found no credentials, lets the next request search again. The credentials service may have
    been down."""
    if _find_credentials.cache_info().currsize and _find_credentials() is None:
        _find_credentials.cache_clear()


def build_url(address: str, function: FunctionArn, part: str) -> str:
    """Returns the URL of a function's invocations or configuration at this endpoint of Lambda."""
    query = f"?Qualifier={quote(function.qualifier)}" if function.qualifier else ""
    return f"{address.rstrip('/')}/2015-03-31/functions/{quote(function.name)}/{part}{query}"
