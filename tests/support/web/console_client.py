"""A browser without a screen: cookies, forms with their origin, and nothing else of what a browser does."""

from __future__ import annotations

import httpx

from tests.support.programs.penstock_service import Service


class ConsoleClient:
    """A client of one service, as one browser would be."""

    def __init__(self, service: Service) -> None:
        self.url = service.url
        # No connection is kept, so a test need not close any.
        limits = httpx.Limits(max_keepalive_connections=0)
        self.http = httpx.Client(base_url=service.url, timeout=60, verify=False, limits=limits)

    def get(self, path: str, **headers: str) -> httpx.Response:
        """A page, as it comes: redirects are not followed."""
        return self.http.get(path, headers={"accept": "text/html", **headers})

    def post(self, path: str, origin: str | None = None, **form: object) -> httpx.Response:
        """Sends a form from a page of this origin; None: of the service's own."""
        return self.http.post(path, data=form, headers={"origin": self.url if origin is None else origin})

    def sign_in(self, key: str, secret: str = "") -> httpx.Response:
        """Signs in; the cookie is kept."""
        return self.post("/console/sign-in", key=key, secret=secret)
