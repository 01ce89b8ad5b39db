"""Serves the documentation site at /docs. `make site` writes the site's archive, and the wheel contains the archive.
The site needs no key, because every caller sees the same pages. Requests count towards the client address's rate limit.
"""

from mimetypes import guess_type
from pathlib import Path, PurePosixPath
from typing import Final
from zipfile import ZipFile

from fastapi import FastAPI, Request, Response
from starlette.responses import PlainTextResponse, RedirectResponse

from penstock.environment import Environment
from penstock_web.http.document import Document, count_request

from .responses import HEADERS

PREFIX: Final = "/docs"
POLICY_NAME: Final = "content-security-policy.txt"
"""The archive's file with the Content Security Policy. The policy lists the hashes of the pages' inline scripts."""
ABSENT: Final = "This installation has no documentation. Install the package, or run `make site` in a clone.\n"


class Site:
    """The site's files. Reads a file from the archive at the first request."""

    def __init__(self, archive: Path) -> None:
        self._archive = ZipFile(archive)
        self._names = frozenset(self._archive.namelist())
        self._documents: dict[str, Document] = {}
        self.headers = {**HEADERS, "cache-control": "no-cache"}
        self.headers["content-security-policy"] = self._archive.read(POLICY_NAME).decode()

    def find_name(self, path: str) -> str | None:
        """Returns the archive's file for a path below /docs/. A folder's page is `index.html`."""
        name = f"{path}index.html" if not path or path.endswith("/") else path
        return name if name in self._names else None

    def is_folder(self, path: str) -> bool:
        """Returns whether the path names a folder, but lacks the final slash."""
        return f"{path}/index.html" in self._names

    def load(self, name: str) -> Document:
        if name not in self._documents:
            kind, _ = guess_type(PurePosixPath(name).name)
            media_type = kind or "application/octet-stream"
            text = media_type.startswith("text/") or media_type.endswith(("javascript", "json", "xml"))
            self._documents[name] = Document.of(
                self._archive.read(name), f"{media_type}; charset=utf-8" if text else media_type
            )
        return self._documents[name]


def find_archive() -> Path:
    """Returns the archive's path. An installed package has the archive in `files/`, and a clone of the repository has
    the archive in `build/`.
    """
    installed = Path(__file__).parents[1] / "files/site.zip"
    return installed if installed.exists() else Path(__file__).parents[4] / "build/site.zip"


def add_documentation(app: FastAPI, environment: Environment, archive: Path | None = None) -> None:
    """Adds the site's routes to an application. Without an archive, the routes respond with 404."""
    archive = archive or find_archive()
    site = Site(archive) if archive.exists() else None
    app.state.has_documentation = site is not None

    async def show(request: Request, path: str = "") -> Response:
        count_request(environment, request)
        if site is None:
            return PlainTextResponse(ABSENT, 404, HEADERS)
        if (name := site.find_name(path)) is not None:
            return site.load(name).response(request, site.headers)
        if site.is_folder(path):
            return RedirectResponse(f"{PREFIX}/{path}/", 307, HEADERS)
        return site.load("404.html").response(request, site.headers, 404)

    async def lead_to_start() -> Response:
        return RedirectResponse(f"{PREFIX}/", 307, HEADERS)

    for path, handler in ((PREFIX, lead_to_start), (PREFIX + "/{path:path}", show)):
        app.add_api_route(path, handler, methods=["GET", "HEAD"], include_in_schema=False)
