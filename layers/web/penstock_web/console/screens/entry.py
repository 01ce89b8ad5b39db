"""Serves sign-in and sign-out, the banner's dismissal, styles and scripts, and unknown paths."""

from urllib.parse import urlsplit

from fastapi import Response
from starlette.responses import RedirectResponse

from penstock.errors import InvalidClientTokenId, RequestThrottled
from penstock.management.rights import PUBLIC, SIGNED_IN
from penstock_web.console.page import CurrentPage
from penstock_web.console.rendering import read_asset
from penstock_web.console.responses import SIGN_IN, compress_response, dismiss_banner, redirect, show_page
from penstock_web.console.screen import act, screen
from penstock_web.console.sign_in import close_session, find_viewer, open_session, set_cookie

HOME = "/console"
YEAR = {
    "cache-control": "public, max-age=31536000, immutable",
    "cross-origin-resource-policy": "same-origin",
    "x-content-type-options": "nosniff",
}


@screen("/", right=PUBLIC)
async def root(page: CurrentPage) -> Response:  # noqa: ARG001
    """Redirects browsers to the console."""
    return RedirectResponse(HOME, 302, {"vary": "Accept"})


@screen("/console/static/{file}", right=PUBLIC)
async def asset(file: str, page: CurrentPage) -> Response:
    """Serves a style, script or picture."""
    found = read_asset(file)
    if found is None:
        return show_page(page, "none.html", 404, title="Not here")
    return compress_response(*found, YEAR, page.request)


@screen("/console/sign-in", right=PUBLIC, title="Sign in")
async def sign_in_page(page: CurrentPage) -> Response:
    """Shows the form, or redirects a viewer who does not need to sign in."""
    if await page.run(find_viewer(page.context)) is not None:
        return redirect(own_path(page.query.get("to", "")))
    return show_page(page, "sign_in.html", to=own_path(page.query.get("to", "")), problem="")


@act("/console/sign-in", right=PUBLIC)
async def sign_in(page: CurrentPage) -> Response:
    """Signs a user in. The form contains a key's id and secret in two fields, or a bearer key in the first field."""
    key_id, _, joined = (
        page.form.get("key")
        .strip()
        .removeprefix("PENSTOCK_TOKEN=")
        .removeprefix("Authorization: ")
        .removeprefix("Bearer ")
        .strip()
        .partition(".")
    )
    secret = page.form.get("secret").strip() or joined
    to = own_path(page.form.get("to"))
    try:
        value = await page.run(open_session(key_id, secret, page.context))
    except (InvalidClientTokenId, RequestThrottled) as error:
        throttled = isinstance(error, RequestThrottled)
        problem = "Too many attempts. Wait a minute." if throttled else "No key has this id and secret."
        return show_page(page, "sign_in.html", 429 if throttled else 403, title="Sign in", to=to, problem=problem)
    return redirect(to, set_cookie(value, page.context))


@act("/console/sign-out", right=SIGNED_IN)
async def sign_out(page: CurrentPage) -> Response:
    """Ends the browser's session."""
    await page.run(close_session(page.context))
    return redirect(SIGN_IN, set_cookie("", page.context))


@act("/console/banner", right=SIGNED_IN)
async def dismiss(page: CurrentPage) -> Response:
    """Hides the banner in this browser, and returns to the page."""
    return dismiss_banner(page, own_path(page.form.get("to")))


@screen("/console/{rest:path}", right=SIGNED_IN, title="Not here")
async def no_page(rest: str, page: CurrentPage) -> Response:  # noqa: ARG001
    """Tells the user that no page has this path."""
    return show_page(page, "none.html", 404)


def own_path(path: str) -> str:
    """Returns `path` if it is a path of the console, and otherwise the overview's path."""
    parts = urlsplit(path)
    is_own = not parts.scheme and not parts.netloc and (parts.path == HOME or parts.path.startswith(f"{HOME}/"))
    safe = is_own and "\\" not in path and path.isprintable() and not path.startswith("//")
    return path if safe and parts.path != SIGN_IN else HOME
