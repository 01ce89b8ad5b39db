"""Serves documents that are the same for every caller, such as the OpenAPI document and the documentation site's
files."""

import gzip
from collections.abc import Mapping
from hashlib import sha256
from typing import NamedTuple

from fastapi import Request, Response

from penstock.context import find_client_address
from penstock.environment import Environment
from penstock_web.metrics.negotiation import takes_gzip


class Document(NamedTuple):
    """Holds the bytes of a document (plain and compressed) and the digest of these bytes."""

    plain: bytes
    compressed: bytes
    etag: str
    media_type: str

    @classmethod
    def of(cls, plain: bytes, media_type: str) -> "Document":
        """Returns a document that contains these bytes."""
        return cls(plain, gzip.compress(plain, mtime=0), f'"{sha256(plain).hexdigest()[:32]}"', media_type)

    def response(self, request: Request, headers: Mapping[str, str], http_status: int = 200) -> Response:
        """Returns the document, compressed if the client accepts compression, or 304 if the client already has the
        document."""
        sent = {"etag": self.etag, "vary": "Accept-Encoding", "cache-control": "no-cache", **headers}
        if http_status == 200 and self.etag in request.headers.get("if-none-match", ""):
            return Response(status_code=304, headers=sent)
        if not takes_gzip(request.headers.get("accept-encoding", "")):
            return Response(self.plain, http_status, sent, self.media_type)
        sent["content-encoding"] = "gzip"
        return Response(self.compressed, http_status, sent, self.media_type)


def count_request(environment: Environment, request: Request) -> None:
    """Counts a request without a key against the rate limit of the client's address. Raises RequestThrottled if the
    address exceeds its rate."""
    rate = environment.request_rate
    if rate is not None:
        peer = "" if request.client is None else request.client.host
        headers = dict(request.scope["headers"])
        rate.check_address(find_client_address(headers, peer, environment.settings), 0)
