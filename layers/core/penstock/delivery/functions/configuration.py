"""Reads a function's configuration from QUEUE_LAMBDA_ENDPOINT.

Source: "GetFunctionConfiguration" (AWS Lambda API reference),
https://docs.aws.amazon.com/lambda/latest/api/API_GetFunctionConfiguration.html
"""

from http.client import HTTPConnection, HTTPException, HTTPSConnection
from typing import Final, NamedTuple

import msgspec

from penstock.aws.function_arn import FunctionArn
from penstock.aws.json_text import decode_json
from penstock.endpoint import parse_endpoint

from .request import build_url, sign_request

MAX_SECONDS: Final = 2.0
"""The timeout for connecting, and for each read of the response."""
MAX_RESPONSE_LENGTH: Final = 1_048_576
_NOT_FOUND: Final = "ResourceNotFoundException"


class FunctionState(NamedTuple):
    """A function's state at Lambda's endpoint. `timeout_seconds` is None if the timeout is unknown."""

    is_missing: bool
    timeout_seconds: int | None


UNKNOWN: Final = FunctionState(is_missing=False, timeout_seconds=None)


class _Configuration(msgspec.Struct, rename="pascal"):
    timeout: int | None = None


def read_function_state(address: str, function: FunctionArn) -> FunctionState:
    """Queries Lambda's endpoint at this address. Returns whether the function is missing, and the function's timeout.

    A function is missing if the endpoint responds with ResourceNotFoundException. Returns UNKNOWN if an emulator does
    not support GetFunctionConfiguration, the role does not allow `lambda:GetFunctionConfiguration`, or the endpoint
    does not respond.
    """
    url = build_url(address, function, "configuration")
    endpoint = parse_endpoint(url)
    kind = HTTPSConnection if endpoint.scheme == "https" else HTTPConnection
    connection = kind(endpoint.host, endpoint.port, timeout=MAX_SECONDS)
    try:
        headers = sign_request("GET", url, function.region, b"", {"Host": endpoint.host_header})
        connection.request("GET", endpoint.target, headers=dict(headers))
        response = connection.getresponse()
        body = response.read(MAX_RESPONSE_LENGTH)
        if response.status == 404 and (response.getheader("x-amzn-errortype") or "").startswith(_NOT_FOUND):
            return FunctionState(is_missing=True, timeout_seconds=None)
        if response.status != 200:
            return UNKNOWN
        return FunctionState(False, msgspec.convert(decode_json(body), _Configuration).timeout)
    except (OSError, HTTPException, ValueError, RecursionError, msgspec.ValidationError):
        return UNKNOWN
    finally:
        connection.close()
