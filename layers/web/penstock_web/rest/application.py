"""Defines the REST API's application, which the container and the Lambda function `rest` (`lambda_function`) serve."""

from typing import Any

import msgspec
from fastapi import FastAPI, Request, Response
from starlette.types import Receive, Scope, Send

from penstock import __version__
from penstock.environment import Environment
from penstock_web.http.document import Document, count_request
from penstock_web.routing.openapi import complete_document
from penstock_web.routing.request_id import KEY, name_request
from penstock_web.routing.runner import RunOperation

from .api import add_rest_api
from .certificates import build_certificates_router
from .webhooks import build_webhooks_router


async def build_entrance() -> dict[str, str]:
    """Answers a request for /v1, without a key. The response contains the address of the OpenAPI document."""
    return {"service": "Penstock", "version": __version__, "openapi": "/v1/openapi.json", "queues": "/v1/queues"}


class RestApplication(FastAPI):
    """Serves the routes below /v1, the certificates, the webhooks and the OpenAPI document."""

    def __init__(self, environment: Environment, run_operation: RunOperation) -> None:
        super().__init__(
            title="Penstock",
            version=__version__,
            description="Queues on plain PostgreSQL: the REST API. The SQS API is on `/`.",
            openapi_url=None,  # `describe` serves it.
            docs_url=None,  # FastAPI's own pages load scripts from other sites.
            redoc_url=None,
            redirect_slashes=False,
        )
        self._environment = environment
        self._document: Document | None = None
        self.add_api_route("/v1/openapi.json", self.describe, include_in_schema=False)
        for path in ("/v1", "/v1/"):
            self.add_api_route(path, build_entrance, include_in_schema=False)
        self.include_router(build_certificates_router(run_operation))
        self.include_router(build_webhooks_router(run_operation))
        add_rest_api(self, environment, run_operation)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serves one request. Adds the request id to the response, unless the caller has already added the id."""
        if scope["type"] == "http" and KEY not in scope:
            send = name_request(scope, send, self._environment)
        await super().__call__(scope, receive, send)

    def openapi(self) -> dict[str, Any]:
        """Returns the OpenAPI document."""
        return complete_document(super().openapi())

    async def describe(self, request: Request) -> Response:
        """Serves the OpenAPI document without a key. The request counts towards the rate limit of the client's
        address."""
        count_request(self._environment, request)
        if self._document is None:
            self._document = Document.of(msgspec.json.encode(self.openapi()), "application/json")
        return self._document.response(request, {})
