"""Reads a function's configuration from QUEUE_LAMBDA_ENDPOINT.

Source: "GetFunctionConfiguration" (AWS Lambda API reference),
https://docs.aws.amazon.com/lambda/latest/api/API_GetFunctionConfiguration.html
"""

from http.client import HTTPConnection, HTTPException, HTTPSConnection
from typing import Final

import msgspec

from penstock.aws.function_arn import FunctionArn
from penstock.delivery.http.endpoint import parse_endpoint

from .request import build_url, sign_request

LONGEST_SECONDS: Final = 2.0
"""The time limit of each step: the connection, and each part of the answer."""
LONGEST_ANSWER: Final = 1_048_576


class _Configuration(msgspec.Struct, rename="pascal"):
    timeout: int | None = None


def read_timeout(address: str, function: FunctionArn) -> int | None:
    """Returns the function's timeout in seconds, according to Lambda's endpoint at this address.

    Returns None if it is unknown: an emulator lacks this call, the role may not `lambda:GetFunctionConfiguration`, the
    function does not exist, or the endpoint does not answer.
    """
    url = build_url(address, function, "configuration")
    endpoint = parse_endpoint(url)
    kind = HTTPSConnection if endpoint.scheme == "https" else HTTPConnection
    connection = kind(endpoint.host, endpoint.port, timeout=LONGEST_SECONDS)
    try:
        headers = sign_request("GET", url, function.region, b"", {"Host": endpoint.host_header})
        connection.request("GET", endpoint.target, headers=dict(headers))
        answer = connection.getresponse()
        body = answer.read(LONGEST_ANSWER)
        return msgspec.json.decode(body, type=_Configuration).timeout if answer.status == 200 else None
    except (OSError, HTTPException, msgspec.DecodeError):
        return None
    finally:
        connection.close()
