"""Builds the console's responses: pages, redirections and errors."""

import gzip
from collections.abc import Mapping
from datetime import UTC, datetime
from functools import partial
from typing import Final, NamedTuple
from urllib.parse import quote

from fastapi import Request, Response
from starlette.responses import RedirectResponse

from penstock.errors import AccessDenied, AwsError, QueueDoesNotExist
from penstock_web.metrics.negotiation import takes_gzip
from penstock_web.routing.errors import status_and_code

from .forms import FieldProblem, Form, find_problems
from .page import Page
from .rendering import render
from .screen import SCREENS, list_navigation
from .sign_in import build_cookie, cookie_name
from .undo import find_undo

SIGN_IN: Final = "/console/sign-in"
QUEUE: Final = "/console/queues/{name}"
TABS: Final = {"": "Charts", "/messages": "Messages", "/failures": "Groups", "/receivers": "Receivers",
               "/settings": "Settings"}  # fmt: skip
"""The tabs of a queue: the end of each path, and the title."""
REPLACEABLE: Final = frozenset(("title", "undo"))
"""Names of the frame that a page can set."""
BANNER_SECONDS: Final = 30 * 86_400
"""How long a dismissed banner stays away."""
WORTHWHILE_BYTES: Final = 1_400
GZIP_LEVEL: Final = 4
"""The gzip level. Compressing a page of 50 queues takes a millisecond at level 4."""
HEADERS: Final = {
    "cache-control": "no-store",
    "content-security-policy": (
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; "
        "form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
    ),
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "permissions-policy": "camera=(), geolocation=(), microphone=()",
    # The value `no-referrer` would make browsers send `Origin: null` with forms.
    "referrer-policy": "same-origin",
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
}


class NoSuchThing(AwsError):  # noqa: N818 - called as the response is
    """Signals that a resource in the URL does not exist."""

    json_type = query_code = "NotFound"
    status = 404


def is_poll(page: Page) -> bool:
    """Returns whether the request asks only for the page's live part."""
    return page.request.headers.get("hx-request-type") == "partial"


def show_page(page: Page, template: str, http_status: int = 200, **values: object) -> Response:
    """Returns a page, or only the page's live part for a poll.

    Raises TypeError if `values` contains a name of the frame, because the banner or the navigation would then be wrong.
    """
    frame = build_frame(page) | {"layout": "part.html" if is_poll(page) else "layout.html"}
    if taken := values.keys() & frame.keys() - REPLACEABLE:
        raise TypeError(f"the frame of {template} has the names {sorted(taken)}")
    html = render(template, frame | values)
    return compress_response(
        html.encode(errors="replace"), "text/html; charset=utf-8", HEADERS, page.request, http_status
    )


def build_frame(page: Page) -> dict[str, object]:
    """Returns the values that every template needs."""
    url = page.request.url
    return {
        "page": page,
        "viewer": page.viewer,
        "is_open": page.context.environment.access is None,
        "is_full": page.is_full,
        "has_documentation": getattr(page.request.app.state, "has_documentation", False),
        "banner": find_banner(page),
        "undo": find_undo(page),
        "navigation": [screen for screen in list_navigation() if page.viewer is not None and page.may_open(screen)],
        "tabs": partial(list_tabs, page),
        "title": page.screen.title,
        "path": url.path,
        "here": url.path + (f"?{url.query}" if url.query else ""),
        "now": datetime.now(UTC),
    }


def list_tabs(page: Page) -> list[tuple[str, str]]:
    """Returns the titles and paths of the tabs that the viewer may open on the page of a queue."""
    name = page.request.path_params["name"]
    known = {screen.path: screen for screen in SCREENS if screen.method == "GET"}
    return [
        (title, f"/console/queues/{quote(name, safe='')}{end}")
        for end, title in TABS.items()
        if page.may_open(known[QUEUE + end], name)
    ]


# --- the banner ------------------------------------------------------------------------------------------------------
def find_banner(page: Page) -> str:
    """Returns what the banner says: `open` (no sign-in), `open-read`, `read` or an empty string. A dismissal covers
    only the same state, so a console that becomes more open says so again.
    """
    if page.viewer is None:
        return ""
    is_open = page.context.environment.access is None
    states = {"open": is_open, "read": not page.is_full}
    state = "-".join(name for name, is_so in states.items() if is_so)
    return "" if page.request.cookies.get(banner_cookie(page)) == state else state


def banner_cookie(page: Page) -> str:
    return cookie_name(page.context.http.headers) + "_banner"


def dismiss_banner(page: Page, to: str) -> Response:
    """Redirects to `to`, and sets a cookie that hides the current banner for 30 days."""
    state = find_banner(page)
    return redirect(to, build_cookie(banner_cookie(page), state, BANNER_SECONDS, page.context) if state else None)


def redirect_to_sign_in(page: Page) -> Response:
    """Redirects to the sign-in page, which returns to this page after the sign-in."""
    url = page.request.url
    back = url.path + (f"?{url.query}" if url.query else "")
    target = f"{SIGN_IN}?to={quote(back, safe='/')}" if page.request.method == "GET" else SIGN_IN
    if "hx-request" in page.request.headers:
        return Response(status_code=401, headers={**HEADERS, "hx-redirect": SIGN_IN})
    return RedirectResponse(target, 303, HEADERS)


def error_page(
    page: Page, error: AwsError, missing: object = None, deleted: object = None, similar: str = ""
) -> Response:
    """Returns a page that shows an error. The page has the error's HTTP status. After a form whose user may not open
    the next page, the page also says what the form did. `missing` is a resource that does not exist, `deleted` the row
    of its deletion in the audit log, and `similar` the name of another resource.
    """
    title = "Not done" if page.request.method == "POST" else "Not here"
    return show_page(
        page, "error.html", find_status(error), title=title, error=error, missing=missing, deleted=deleted,
        similar=similar,
    )  # fmt: skip


def find_status(error: AwsError | None) -> int:
    """Returns the HTTP status of a page that shows an error, or of a form without an error."""
    if error is None:
        return 200
    return error.status if isinstance(error, NoSuchThing) else status_and_code(type(error))[0]


class Refusal(NamedTuple):
    """The HTTP status and the problems of a form that is shown again, by field. A new form has none."""

    status: int = 200
    problems: Mapping[str, FieldProblem] = {}


ACCEPTED: Final = Refusal()


def explain_refusal(error: AwsError, form: Form, fields: Mapping[str, str]) -> Refusal:
    """Returns an error at the field that it is about (`find_problems`). Raises the error if the service is at fault."""
    if not error.sender_fault:
        raise error
    return Refusal(find_status(error), find_problems(error, form, fields))


def find_target_problem(error: AwsError | None, field: str, queue: str) -> dict[str, FieldProblem]:
    """Returns an error by the field that names the target queue, if the error is about this queue, and otherwise as a
    problem of the whole form.
    """
    if error is None:
        return {}
    if queue and isinstance(error, QueueDoesNotExist):
        return {field: FieldProblem(f"There is no queue '{queue}'.")}
    is_denied = queue and isinstance(error, AccessDenied) and f":{queue} " in f"{error.message} "
    return {field if is_denied else "": FieldProblem(error.message)}


def redirect(path: str, cookie: str | None = None) -> Response:
    """Redirects to another page after a form, so that a reload does not submit the form again."""
    headers = HEADERS if cookie is None else {**HEADERS, "set-cookie": cookie}
    return RedirectResponse(path, 303, headers)


def compress_response(
    body: bytes, media_type: str, headers: Mapping[str, str], request: Request, http_status: int = 200
) -> Response:
    """Returns a response. Compresses a long body if the browser accepts gzip."""
    headers = {**headers, "vary": "Accept-Encoding, HX-Request-Type"}
    if len(body) >= WORTHWHILE_BYTES and takes_gzip(request.headers.get("accept-encoding", "")):
        headers["content-encoding"] = "gzip"
        body = gzip.compress(body, GZIP_LEVEL)
    return Response(body, http_status, headers, media_type)
