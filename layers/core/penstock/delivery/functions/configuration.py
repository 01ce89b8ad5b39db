"""What Lambda says of a function, at QUEUE_LAMBDA_ENDPOINT.

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
"""Of each step: the connection, and each part of the answer."""
LONGEST_ANSWER: Final = 1_048_576


class _Configuration(msgspec.Struct, rename="pascal"):
    timeout: int | None = None


def read_timeout(address: str, function: FunctionArn) -> int | None:
    """How many seconds a function may take, as the endpoint of Lambda at this address says.

    None where it does not say: an emulator without this call, a role that may not `lambda:GetFunctionConfiguration`, a
    function that is not there, an endpoint that does not answer.
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
