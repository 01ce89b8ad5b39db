"""Checks each request's host, origin, user and rights."""

import logging
from collections.abc import Callable, Coroutine
from typing import Final
from urllib.parse import urlsplit

from fastapi import Request, Response
from fastapi.routing import APIRoute

from penstock.access.audit.refusals import counting_refusals
from penstock.access.hosts import DEFAULT_PORTS, OTHER_SITES
from penstock.access.quotas import check_rate, count_response
from penstock.context import Context, request_host
from penstock.errors import AccessDenied, AwsError, InternalFailure
from penstock_web.routing.request_id import get_request_id

from .forms import Form
from .page import PAGE_KEY, Page
from .resources import show_error
from .responses import error_page, redirect_to_sign_in
from .screen import find_screen
from .sign_in import find_viewer, is_https

FOREIGN: Final = (
    "No page of this console sent this form: the form's origin is {given}, and the console's is {own}. "
    "Behind a proxy, set QUEUE_BASE_URL or QUEUE_TRUST_FORWARDED."
)

_log = logging.getLogger(__name__)


class SignInWanted(Exception):  # noqa: N818 - nothing failed
    """Signals that the user must sign in first."""


class ConsoleRoute(APIRoute):
    """Routes requests to a handler that `@screen` or `@act` declared."""

    def get_route_handler(self) -> Callable[[Request], Coroutine[None, None, Response]]:
        """Returns a handler that checks the viewer's rights, and shows every error as a page."""
        handle, screen = super().get_route_handler(), find_screen(self.endpoint)

        async def admitted(request: Request) -> Response:
            page = request.scope[PAGE_KEY] = Page(request, screen)
            try:
                with counting_refusals(page.context, f"{request.method} {request.url.path}"):
                    await admit(page)
                response = await handle(request)
            except SignInWanted:
                return redirect_to_sign_in(page)
            except AwsError as error:
                return await show_error(page, error)
            except Exception as error:  # noqa: BLE001 - every error gets a page
                request_id = get_request_id(request.scope, page.context.environment)
                _log.error("request failed", exc_info=error, extra={"request_id": request_id, "path": request.url.path})
                return error_page(page, InternalFailure(f"Internal error. Request id: {request_id}"))
            count_response(page.context, len(response.body))
            return response

        return admitted


async def admit(page: Page) -> None:
    """Checks a request. Raises SignInWanted, or an error that refuses the request."""
    context, request, right = page.context, page.request, page.screen.right
    context.environment.hosts.check_host(context.http.headers, context.http.host_checked)
    writes = request.method not in ("GET", "HEAD")
    check_origin(context, writes=writes)
    if not right.is_public:
        page.viewer = await page.run(find_viewer(context))
        if page.viewer is None:
            raise SignInWanted
    check_rate(context, len(await request.body()) if writes else 0)
    if right.actions:
        if writes and not page.is_full:
            raise AccessDenied("This console only reads (QUEUE_CONSOLE=read).")
        await page.check(right)
    if writes:
        page.form = await Form.read(request)


def check_origin(context: Context, *, writes: bool) -> None:
    """Raises AccessDenied for a form from another origin, and for a page that another site embeds. Allows links from
    other sites. The cookie's SameSite attribute is not sufficient, because it ignores ports: browsers send the cookie
    with a form from any port of this host.
    """
    headers = context.http.headers
    if writes:
        given, own = headers.get(b"origin", b"").decode("latin-1"), own_origins(context)
        if given not in own:
            raise AccessDenied(FOREIGN.format(given=given or "not named", own=" or ".join(sorted(own))))
    elif headers.get(b"sec-fetch-site") in OTHER_SITES and headers.get(b"sec-fetch-mode") != b"navigate":
        raise AccessDenied("A page of another site sent this request.")


def own_origins(context: Context) -> set[str]:
    """Returns the console's two possible origins: QUEUE_BASE_URL, and the request's Host header."""
    scheme = "https" if is_https(context) else "http"
    host = request_host(context.http.headers, context.environment).decode("latin-1").lower()
    base = urlsplit(context.base_url)
    return {build_origin(scheme, host), build_origin(base.scheme, base.netloc.lower())}


def build_origin(scheme: str, host: str) -> str:
    """Returns an origin as browsers send it, without the scheme's default port."""
    return f"{scheme}://{host.removesuffix(DEFAULT_PORTS.get(f'{scheme}:'.encode(), b'').decode())}"
