"""Admits the requests of the console: the host, the page that sent them, who is signed in, and what he may do."""

import gzip
import logging
from collections.abc import Callable, Coroutine, Mapping
from datetime import UTC, datetime
from typing import Annotated, Final, TypeVar
from urllib.parse import parse_qsl, quote, urlsplit

from fastapi import Depends, Request, Response
from fastapi.routing import APIRoute
from starlette.responses import RedirectResponse

from penstock.access.authorization import is_user_allowed
from penstock.access.hosts import DEFAULT_PORTS, OTHER_SITES
from penstock.access.request_rate import check_rate, count_answer
from penstock.access.resources import ANY
from penstock.audit import Act, record_act
from penstock.context import Context, request_host
from penstock.effects import Operation
from penstock.errors import (
    AccessDenied,
    AwsError,
    InternalFailure,
    InvalidParameterValue,
    RequestEntityTooLarge,
)
from penstock.management.rights import Right, authorize
from penstock_web.metrics.negotiation import takes_gzip
from penstock_web.routing.errors import status_and_code
from penstock_web.routing.request_id import get_request_id
from penstock_web.routing.runner import PATH_NAMES, OperationRunner

from .readings import ViewCache
from .refreshing import Refresher
from .rendering import render
from .screen import Screen, find_screen, list_navigation
from .sign_in import Viewer, find_viewer, is_https

T = TypeVar("T")

PAGE_KEY: Final = "penstock.page"
SIGN_IN: Final = "/console/sign-in"
LONGEST_FORM: Final = 1_400_000
"""Bytes: a message of 256 KiB whose characters are escaped, and its attributes."""
WORTHWHILE_BYTES: Final = 1_400
GZIP_LEVEL: Final = 4
"""A page of 50 queues takes a millisecond."""
HEADERS: Final = {
    "cache-control": "no-store",
    "content-security-policy": (
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; "
        "form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
    ),
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "permissions-policy": "camera=(), geolocation=(), microphone=()",
    # `no-referrer` would make browsers send `Origin: null` with the console's own forms.
    "referrer-policy": "same-origin",
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
}
FOREIGN: Final = (
    "This form was not sent by a page of this console: its origin is {given}, and the console's is {own}. "
    "Behind a proxy, set QUEUE_BASE_URL or QUEUE_TRUST_FORWARDED."
)

_log = logging.getLogger(__name__)


class SignInWanted(Exception):  # noqa: N818 - nothing failed
    """The route is for people who are signed in."""


class NoSuchThing(AwsError):  # noqa: N818 - called as the answer is
    """There is nothing of this name."""

    json_type = query_code = "NotFound"
    status = 404


class Page:
    """One admitted request of the console. `viewer`: its user, None on public pages."""

    def __init__(self, request: Request, screen: Screen) -> None:
        self.screen = screen
        self._runner = OperationRunner(request)
        self.request = request
        self.context: Context = self._runner.context
        self.viewer: Viewer | None = None
        self._form: dict[str, list[str]] = {}

    # --- what the request says ---------------------------------------------------------------------------------------
    @property
    def query(self) -> Mapping[str, str]:
        """The parameters of the address."""
        return self.request.query_params

    def number(self, name: str, default: int, most: int = 2**62) -> int:
        """A parameter that is a whole number from 1 to `most`; the default for anything else."""
        text = self.query.get(name, "")
        return (
            int(text)
            if text.isascii() and text.isdigit() and len(text) < 20 and 1 <= int(text) <= most
            else default
        )

    def choice(self, name: str, choices: tuple[str, ...]) -> str:
        """A parameter that is one of these; the first one for anything else."""
        value = self.query.get(name, "")
        return value if value in choices else choices[0]

    def field(self, name: str) -> str:
        """A field of the form; empty if it has none."""
        return self._form.get(name, [""])[0]

    def fields(self, name: str) -> list[str]:
        """All fields of this name."""
        return self._form.get(name, [])

    async def read_form(self) -> None:
        """Reads the body. Raises RequestEntityTooLarge and InvalidParameterValue."""
        body = await self.request.body()
        if len(body) > LONGEST_FORM:
            raise RequestEntityTooLarge
        kind = self.request.headers.get("content-type", "").partition(";")[0].strip().lower()
        if body and kind != "application/x-www-form-urlencoded":
            raise InvalidParameterValue("The console takes forms only.")
        try:
            pairs = parse_qsl(
                body.decode("ascii"), keep_blank_values=True, max_num_fields=2_000, errors="strict"
            )
        except ValueError as error:
            raise InvalidParameterValue(f"This form cannot be read: {error}") from error
        for name, value in pairs:
            self._form.setdefault(name, []).append(value)

    # --- what may be done --------------------------------------------------------------------------------------------
    @property
    def is_full(self) -> bool:
        """Whether anything may be changed by this console."""
        return self.context.environment.settings.console == "full"

    def may(self, action: str, arn: str = ANY) -> bool:
        """Whether the user's own policies allow this, for what a page offers. Each request is asked again."""
        if action.partition(":")[2].startswith(READING) or self.is_full:
            service, _, name = action.partition(":")
            return is_user_allowed(service, name, arn, self.context)
        return False

    async def check(self, right: Right) -> None:
        """Raises AccessDenied unless the user has the right, with the queue or topic of the path if it is about one."""
        path = self.request.path_params
        name = None if right.scope == "account" else path[PATH_NAMES[right.scope]]
        await self.run(authorize(right, name, self.context))

    # --- work --------------------------------------------------------------------------------------------------------
    async def run(self, operation: Operation[T]) -> T:
        """The result of an operation. Raises its typed errors."""
        return await self._runner.run(operation)

    async def act(self, act: Act, operation: Operation[T], count: Callable[[T], int | None]) -> T:
        """The same, and a row of the audit. `count`: of the result, how many it was about."""
        key_id = None if self.viewer is None else self.viewer.key_id
        try:
            return await self.run(record_act(act, operation, count, self.context, key_id))
        finally:
            self.context.environment.cache(ViewCache).clear()

    async def read(self, key: tuple[object, ...], operation: Callable[[], Operation[T]]) -> T:
        """The result of an operation that only reads, shared with others of the account. `key`: what it reads."""
        readings = self.context.environment.cache(ViewCache)
        owner = (self.context.account_id, self.context.region)
        return await readings.get((*owner, *key), lambda: self.run(operation()))

    async def refresh(self) -> None:
        """Returns when the queues have been measured, in a process whose worker `measure` sleeps, or after a moment.

        The page says when they were measured; the next poll knows the rest.
        """
        refresher: Refresher | None = self.request.app.state.console_refresh
        if refresher is not None:
            await refresher.wait()

    def pool(self) -> Mapping[str, int] | None:
        """The counters of the process's pool of connections; None: a function, which has one connection."""
        stats: Callable[[], Mapping[str, int]] | None = self.request.app.state.console_pool
        return None if stats is None else stats()

    def show(self, template: str, http_status: int = 200, **values: object) -> Response:
        """A page, or only its live part where a poll asks for it."""
        is_part = self.request.headers.get("hx-request-type") == "partial"
        layout = "part.html" if is_part else "layout.html"
        html = render(template, {**self._frame(), "layout": layout, **values})
        return compress_response(
            html.encode(errors="replace"), "text/html; charset=utf-8", HEADERS, self.request, http_status
        )

    def _frame(self) -> dict[str, object]:
        """What the layout shows on every page."""
        url = self.request.url
        return {
            "page": self,
            "viewer": self.viewer,
            "is_open": self.context.environment.access is None,
            "is_full": self.is_full,
            "navigation": []
            if self.viewer is None
            else [one for one in list_navigation() if all(map(self.may, one.right.actions))],
            "title": self.screen.title,
            "path": url.path,
            "here": url.path + (f"?{url.query}" if url.query else ""),
            "now": datetime.now(UTC),
        }


READING: Final = ("Get", "List", "ReceiveMessage", "Read", "Match", "Preview")


class ConsoleRoute(APIRoute):
    """A route of the console, for a handler that `screen.py` knows."""

    def get_route_handler(self) -> Callable[[Request], Coroutine[None, None, Response]]:
        """FastAPI's handler, called if the viewer has the right; every error is a page."""
        handle, screen = super().get_route_handler(), find_screen(self.endpoint)

        async def admitted(request: Request) -> Response:
            page = request.scope[PAGE_KEY] = Page(request, screen)
            try:
                await admit(page)
                response = await handle(request)
            except SignInWanted:
                return to_sign_in(page)
            except AwsError as error:
                return error_page(page, error)
            except Exception as error:  # noqa: BLE001 - every error gets a page
                request_id = get_request_id(request.scope, page.context.environment)
                _log.error(
                    "request failed",
                    exc_info=error,
                    extra={"request_id": request_id, "path": request.url.path},
                )
                return error_page(page, InternalFailure(f"Internal error. Request id: {request_id}"))
            count_answer(page.context, len(response.body))
            return response

        return admitted


async def admit(page: Page) -> None:
    """Raises SignInWanted, and the error for which the request is refused."""
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
        await page.read_form()


def check_origin(context: Context, *, writes: bool) -> None:
    """Raises AccessDenied for a form whose origin is not exactly the console's own, and for what another site embeds.

    SameSite knows no ports, so the cookie comes with a form of any page on this host. Links from elsewhere are
    followed.
    """
    headers = context.http.headers
    if writes:
        given, own = headers.get(b"origin", b"").decode("latin-1"), own_origins(context)
        if given not in own:
            raise AccessDenied(FOREIGN.format(given=given or "not named", own=" or ".join(sorted(own))))
    elif headers.get(b"sec-fetch-site") in OTHER_SITES and headers.get(b"sec-fetch-mode") != b"navigate":
        raise AccessDenied("A page of another site asked for this.")


def own_origins(context: Context) -> set[str]:
    """The origins of the console's pages: of QUEUE_BASE_URL, and of the host that the browser asked."""
    scheme = "https" if is_https(context) else "http"
    host = request_host(context.http.headers, context.environment).decode("latin-1").lower()
    base = urlsplit(context.base_url)
    return {build_origin(scheme, host), build_origin(base.scheme, base.netloc.lower())}


def build_origin(scheme: str, host: str) -> str:
    """As browsers write it: without the port that the scheme has by default."""
    return f"{scheme}://{host.removesuffix(DEFAULT_PORTS.get(f'{scheme}:'.encode(), b'').decode())}"


def to_sign_in(page: Page) -> Response:
    """Leads to the page where one signs in, and from there back."""
    url = page.request.url
    back = url.path + (f"?{url.query}" if url.query else "")
    target = f"{SIGN_IN}?to={quote(back, safe='/')}" if page.request.method == "GET" else SIGN_IN
    if "hx-request" in page.request.headers:
        return Response(status_code=401, headers={**HEADERS, "hx-redirect": SIGN_IN})
    return RedirectResponse(target, 303, HEADERS)


def error_page(page: Page, error: AwsError) -> Response:
    """An error as a page, with its status in HTTP."""
    status = error.status if isinstance(error, NoSuchThing) else status_and_code(type(error))[0]
    return page.show(
        "error.html", status, title="Not done" if page.request.method == "POST" else "Not here", error=error
    )


def redirect(path: str, cookie: str | None = None) -> Response:
    """Leads to another page after a form, so that reloading it repeats nothing."""
    headers = HEADERS if cookie is None else {**HEADERS, "set-cookie": cookie}
    return RedirectResponse(path, 303, headers)


def compress_response(
    body: bytes, media_type: str, headers: Mapping[str, str], request: Request, http_status: int = 200
) -> Response:
    """A response, compressed if that is worthwhile and the browser takes it."""
    headers = {**headers, "vary": "Accept-Encoding, HX-Request-Type"}
    if len(body) >= WORTHWHILE_BYTES and takes_gzip(request.headers.get("accept-encoding", "")):
        headers["content-encoding"] = "gzip"
        body = gzip.compress(body, GZIP_LEVEL)
    return Response(body, http_status, headers, media_type)


async def _page(request: Request) -> Page:
    """The request's page. A coroutine, since FastAPI would call a plain function in a thread."""
    page: Page = request.scope[PAGE_KEY]
    return page


CurrentPage = Annotated[Page, Depends(_page)]
