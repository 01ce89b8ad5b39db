"""Serves the documentation site at /docs, from the archive that `make site` writes and that a wheel contains.

The site needs no key, because the pages are the same for every caller. Requests count for the client's address.
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
"""The entry of the archive with the policy of its pages, which allows their inline scripts by hashes."""
ABSENT: Final = "This installation has no documentation: only the package has it. In a clone, run `make site`.\n"


class Site:
    """The site's files. The first request for a file reads the file from the archive."""

    def __init__(self, archive: Path) -> None:
        self._archive = ZipFile(archive)
        self._names = frozenset(self._archive.namelist())
        self._documents: dict[str, Document] = {}
        self.headers = {**HEADERS, "cache-control": "no-cache"}
        self.headers["content-security-policy"] = self._archive.read(POLICY_NAME).decode()

    def find_name(self, path: str) -> str | None:
        """Returns the name of the file for a path below /docs/. A page is the `index.html` of its folder."""
        name = f"{path}index.html" if not path or path.endswith("/") else path
        return name if name in self._names else None

    def is_folder(self, path: str) -> bool:
        """Returns whether a page's path lacks the final slash."""
        return f"{path}/index.html" in self._names

    def load(self, name: str) -> Document:
        """Returns a file of the site."""
        if name not in self._documents:
            kind, _ = guess_type(PurePosixPath(name).name)
            media_type = kind or "application/octet-stream"
            text = media_type.startswith("text/") or media_type.endswith(("javascript", "json", "xml"))
            self._documents[name] = Document.of(
                self._archive.read(name), f"{media_type}; charset=utf-8" if text else media_type
            )
        return self._documents[name]


def find_archive() -> Path:
    """Returns the path of the archive. A package has it in `files`, a checkout in build/."""
    installed = Path(__file__).parents[1] / "files/site.zip"
    return installed if installed.exists() else Path(__file__).parents[4] / "build/site.zip"


def add_documentation(app: FastAPI, environment: Environment, archive: Path | None = None) -> None:
    """Adds the routes of the site to an application. Without an archive they answer 404."""
    archive = archive or find_archive()
    site = Site(archive) if archive.exists() else None
    app.state.has_documentation = site is not None

    async def show(request: Request, path: str = "") -> Response:
        count_request(environment, request)
        if site is None:
            return PlainTextResponse(ABSENT, 404, HEADERS)
        if (name := site.find_name(path)) is not None:
            return site.load(name).answer(request, site.headers)
        if site.is_folder(path):
            return RedirectResponse(f"{PREFIX}/{path}/", 307, HEADERS)
        return site.load("404.html").answer(request, site.headers, 404)

    async def lead_to_start() -> Response:
        return RedirectResponse(f"{PREFIX}/", 307, HEADERS)

    for path, handler in ((PREFIX, lead_to_start), (PREFIX + "/{path:path}", show)):
        app.add_api_route(path, handler, methods=["GET", "HEAD"], include_in_schema=False)
