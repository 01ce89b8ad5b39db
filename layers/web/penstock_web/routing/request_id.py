"""Gives each request of the REST API an id. The response (`x-amzn-RequestId`), log lines and the access log contain
the id."""

from typing import Final

from starlette.types import Message, Scope, Send

from penstock.environment import Environment

KEY: Final = "penstock.request_id"
HEADER: Final = b"x-amzn-requestid"


def get_request_id(scope: Scope, environment: Environment) -> str:
    """Returns the id of a request. The first call creates the id."""
    request_id: str | None = scope.get(KEY)
    if request_id is None:
        request_id = scope[KEY] = environment.request_ids()
    return request_id


def name_request(scope: Scope, send: Send, environment: Environment) -> Send:
    """Returns a `send` that adds the request's id to the headers of the response."""
    header = HEADER, get_request_id(scope, environment).encode()

    async def send_with_id(message: Message) -> None:
        if message["type"] == "http.response.start":
            message = {**message, "headers": [*message.get("headers", ()), header]}
        await send(message)

    return send_with_id
