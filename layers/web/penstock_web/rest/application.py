"""Builds the REST API as an application, which is a part of the container and of the function `rest`
(`lambda_function`)."""

import gzip
from hashlib import sha256
from typing import Any, NamedTuple

import msgspec
from fastapi import FastAPI, Request, Response
from starlette.types import Receive, Scope, Send

from penstock import __version__
from penstock.context import find_client_address
from penstock.environment import Environment
from penstock_web.metrics.negotiation import takes_gzip
from penstock_web.routing.openapi import complete_document
from penstock_web.routing.request_id import KEY, name_request
from penstock_web.routing.runner import RunOperation

from .api import add_rest_api
from .certificates.routes import certificates_router


async def entrance() -> dict[str, str]:
    """Serves the entrance at /v1. The entrance is public and names the OpenAPI document."""
    return {
        "service": "Penstock",
        "version": __version__,
        "openapi": "/v1/openapi.json",
        "queues": "/v1/queues",
    }


class Document(NamedTuple):
    """The bytes of a JSON document, plain and compressed, with the digest that identifies them."""

    plain: bytes
    compressed: bytes
    etag: str

    @classmethod
    def of(cls, document: object) -> "Document":
        """Returns the bytes of a document."""
        plain = msgspec.json.encode(document)
        return cls(plain, gzip.compress(plain, mtime=0), f'"{sha256(plain).hexdigest()[:32]}"')

    def answer(self, request: Request) -> Response:
        """Returns the document, compressed if the client takes that, or 304 if the client has it."""
        headers = {"etag": self.etag, "vary": "Accept-Encoding", "cache-control": "no-cache"}
        if self.etag in request.headers.get("if-none-match", ""):
            return Response(status_code=304, headers=headers)
        if not takes_gzip(request.headers.get("accept-encoding", "")):
            return Response(self.plain, headers=headers, media_type="application/json")
        headers["content-encoding"] = "gzip"
        return Response(self.compressed, headers=headers, media_type="application/json")


class RestApplication(FastAPI):
    """The routes below /v1, the certificates and the OpenAPI document. `run_operation` runs operations."""

    def __init__(self, environment: Environment, run_operation: RunOperation) -> None:
        super().__init__(
            title="Penstock",
            version=__version__,
            description="Queues on plain PostgreSQL: the REST API. The SQS API is on `/`.",
            openapi_url=None,  # `describe` serves it.
            docs_url=None,  # FastAPI's pages load scripts from other sites.
            redoc_url=None,
            redirect_slashes=False,
        )
        self._environment = environment
        self._document: Document | None = None
        self.add_api_route("/v1/openapi.json", self.describe, include_in_schema=False)
        for path in ("/v1", "/v1/"):
            self.add_api_route(path, entrance, include_in_schema=False)
        self.include_router(certificates_router(run_operation))
        add_rest_api(self, environment, run_operation)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serves one request. The answer has the id of the request, unless the caller has added it."""
        if scope["type"] == "http" and KEY not in scope:
            send = name_request(scope, send, self._environment)
        await super().__call__(scope, receive, send)

    def openapi(self) -> dict[str, Any]:
        """Returns the OpenAPI document, which is built once."""
        return complete_document(super().openapi())

    async def describe(self, request: Request) -> Response:
        """Serves the OpenAPI document without a key. It counts as a request of the client's address."""
        rate = self._environment.request_rate
        if rate is not None:
            peer = "" if request.client is None else request.client.host
            headers = dict(request.scope["headers"])
            rate.check_address(find_client_address(headers, peer, self._environment.settings), 0)
        if self._document is None:
            self._document = Document.of(self.openapi())
        return self._document.answer(request)
