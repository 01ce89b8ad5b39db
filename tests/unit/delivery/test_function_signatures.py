"""Credentials that cannot be had: their service is down, or answers with an error."""

from __future__ import annotations

import asyncio

import botocore.session
import pytest
from botocore.exceptions import CredentialRetrievalError

from penstock.aws.function_arn import parse_function
from penstock.delivery.functions import request
from penstock.delivery.functions.configuration import timeout_of
from penstock.mappings.invocation import Invoker, Throttled
from penstock.settings import Settings

ADDRESS = "http://127.0.0.1:1"


@pytest.fixture(autouse=True)
def no_credentials(monkeypatch: pytest.MonkeyPatch) -> None:
    class Session:
        def get_credentials(self) -> None:
            raise CredentialRetrievalError(provider="container-role", error_msg="timed out")

    monkeypatch.setattr(botocore.session, "get_session", Session)
    request._find_credentials.cache_clear()


def test_an_invocation_fails_as_if_lambda_could_not_be_reached() -> None:
    async def scenario() -> None:
        invoker = Invoker(Settings.read({"QUEUE_LAMBDA_ENDPOINT": ADDRESS}))
        with pytest.raises(Throttled, match="cannot be reached"):
            await invoker.invoke("f", "000000000000", "us-east-1", b"{}", 5)
        await invoker.close()

    asyncio.run(scenario())


def test_a_functions_timeout_is_not_known() -> None:
    function = parse_function("f", "000000000000", "us-east-1")
    assert function is not None
    assert timeout_of(ADDRESS, function) is None
