"""Credentials that cannot be had: their service is down, or answers with an error."""

from __future__ import annotations

import time
from uuid import UUID

import botocore.session
import pytest
from botocore.exceptions import CredentialRetrievalError

from penstock.aws.function_arn import parse_function
from penstock.delivery.delivery import FUNCTION, Delivery
from penstock.delivery.functions import client, request
from penstock.delivery.functions.carrier import FunctionCarrier
from penstock.delivery.functions.client import FunctionClient
from penstock.delivery.functions.configuration import read_timeout
from penstock.delivery.http.connection import Answer
from penstock.delivery.http.sender import Sender
from penstock.event_sources.invocation import Invoker, Throttled
from penstock.settings import Settings

ADDRESS = "http://127.0.0.1:1"


@pytest.fixture
def no_credentials(monkeypatch: pytest.MonkeyPatch) -> None:
    class Session:
        def get_credentials(self) -> None:
            raise CredentialRetrievalError(provider="container-role", error_msg="timed out")

    monkeypatch.setattr(botocore.session, "get_session", Session)
    request._find_credentials.cache_clear()


@pytest.mark.usefixtures("no_credentials")
async def test_an_invocation_fails_as_if_lambda_could_not_be_reached() -> None:
    invoker = Invoker(Settings.read({"QUEUE_LAMBDA_ENDPOINT": ADDRESS}))
    with pytest.raises(Throttled, match="cannot be reached"):
        await invoker.invoke("f", "000000000000", "us-east-1", b"{}", 5)
    await invoker.close()


@pytest.mark.usefixtures("no_credentials")
def test_a_functions_timeout_is_not_known() -> None:
    function = parse_function("f", "000000000000", "us-east-1")
    assert function is not None
    assert read_timeout(ADDRESS, function) is None


async def test_signing_takes_no_longer_than_the_invocation_may(monkeypatch: pytest.MonkeyPatch) -> None:
    """Else a function would be invoked with messages that others have received meanwhile, or after its lease."""

    def slow(*_: object) -> dict[str, str]:
        time.sleep(0.3)
        return {}

    monkeypatch.setattr(client, "sign_request", slow)

    invoker = FunctionClient(ADDRESS, 1)
    function = parse_function("f", "000000000000", "us-east-1")
    assert function is not None
    began = time.monotonic()
    with pytest.raises(TimeoutError):
        await invoker.invoke(function, b"{}", 0.1, "Event")
    took = time.monotonic() - began
    await invoker.close()
    assert took < 0.25


async def test_a_delivery_that_is_no_event_has_an_outcome() -> None:
    """Else it would be tried again after each lease, without an end."""
    settings = Settings.read({"QUEUE_LAMBDA_ENDPOINT": ADDRESS})
    carrier = FunctionCarrier(settings, FunctionClient(ADDRESS, 1))
    arn = "arn:aws:lambda:us-east-1:000000000000:function:f"
    delivery = Delivery(
        1, "000000000000", "", arn, FUNCTION, UUID(int=1), None, None, raw=True, policy=None, attempts=0,
        body="no envelope",
    )  # fmt: skip
    assert (await carrier.carry(delivery)).error == "ServiceException: the function was not invoked"


@pytest.mark.parametrize(("status", "looks"), [(403, 2), (200, 1)])
async def test_missing_credentials_are_looked_for_again_once_lambda_refuses(
    monkeypatch: pytest.MonkeyPatch, status: int, looks: int
) -> None:
    """Their service may not have answered at first; where nothing is refused no invocation waits for them again."""
    found: list[None] = []

    class Session:
        def get_credentials(self) -> None:
            found.append(None)

    async def answer(*_: object) -> Answer:
        return Answer(status, None)

    monkeypatch.setattr(botocore.session, "get_session", Session)
    monkeypatch.setattr(Sender, "post", answer)
    request._find_credentials.cache_clear()
    function = parse_function("f", "000000000000", "us-east-1")
    assert function is not None
    invoker = FunctionClient(ADDRESS, 0)
    for _ in range(2):
        await invoker.invoke(function, b"{}", 5, "Event")
    await invoker.close()
    assert len(found) == looks
    request._find_credentials.cache_clear()
