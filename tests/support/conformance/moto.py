"""Makes calls that both moto and Penstock support, and returns their outcomes."""

from collections.abc import Callable
from functools import cache
from typing import Any, NamedTuple

import botocore.session
from botocore.exceptions import ClientError


def attribute(name: str, kind: str, value: str) -> dict[str, dict[str, str]]:
    return {name: {"DataType": kind, "StringValue": value}}


class Call(NamedTuple):
    """A call. `moto` is moto's outcome if it differs from Penstock's, with the reason."""

    name: str
    action: Callable[[Any, str], None]
    moto: str | None = None
    why: str = ""


def call_outcome(client: Any, case: Call, name: str) -> str:
    """Returns `ok` or the error code. Moto lacks some actions and crashes on some requests."""
    try:
        case.action(client, name)
    except ClientError as error:
        return str(error.response["Error"]["Code"])
    except (NotImplementedError, ValueError, LookupError):
        return "not implemented"
    return "ok"


@cache
def moto_client(service: str) -> Any:
    """Creates a session after the import of moto, because moto mocks no earlier session."""
    import moto  # noqa: F401

    keys = {"aws_access_key_id": "test", "aws_secret_access_key": "test"}
    return botocore.session.Session().create_client(service, region_name="us-east-1", **keys)


@cache
def moto_outcome(case: Call, service: str = "sqs") -> str:
    from moto import mock_aws

    with mock_aws():
        return call_outcome(moto_client(service), case, "name")
