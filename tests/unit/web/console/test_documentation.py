"""Tests the pages below /docs on a small archive. Headers are as RFC 9110 defines them; the paths are our choice."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast
from zipfile import ZipFile

import httpx
import pytest
from fastapi import FastAPI

from penstock_web.console.documentation import ABSENT, POLICY_NAME, add_documentation

PAGE = "<p>" + "a message " * 300
FILES = {
    "index.html": "start",
    "guides/delay/index.html": PAGE,
    "assets/site.css": "p {}",
    "404.html": "no page",
    POLICY_NAME: "default-src 'none'; script-src 'sha256-x'",
}


def client(archive: Path) -> httpx.AsyncClient:
    app = FastAPI(docs_url=None)
    add_documentation(app, cast("Any", SimpleNamespace(request_rate=None)), archive)
    return httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url="http://penstock")


@pytest.fixture
def archive(tmp_path: Path) -> Path:
    with ZipFile(tmp_path / "site.zip", "w") as packed:
        for name, text in FILES.items():
            packed.writestr(name, text)
    return tmp_path / "site.zip"


@pytest.mark.parametrize(
    ("path", "status", "text"),
    [
        ("/docs/", 200, "start"),
        ("/docs/guides/delay/", 200, PAGE),
        ("/docs/assets/site.css", 200, "p {}"),
        ("/docs/nothing", 404, "no page"),
        ("/docs/guides/", 404, "no page"),
        ("/docs/../index.html", 404, ""),
        ("/docs/%2e%2e/etc/passwd", 404, "no page"),
    ],
)
async def test_a_path_has_its_page(archive: Path, path: str, status: int, text: str) -> None:
    async with client(archive) as http:
        answer = await http.get(path)
        assert answer.status_code == status
        assert text in answer.text
        if text:
            assert answer.headers["content-security-policy"] == FILES[POLICY_NAME]
            assert answer.headers["x-content-type-options"] == "nosniff"


async def test_a_page_without_its_slash_redirects(archive: Path) -> None:
    async with client(archive) as http:
        for path, target in (("/docs", "/docs/"), ("/docs/guides/delay", "/docs/guides/delay/")):
            answer = await http.get(path)
            assert (answer.status_code, answer.headers["location"]) == (307, target)


async def test_a_client_that_has_a_page_gets_no_body(archive: Path) -> None:
    async with client(archive) as http:
        page = await http.get("/docs/guides/delay/")
        assert page.headers["content-encoding"] == "gzip"
        again = await http.get("/docs/guides/delay/", headers={"if-none-match": page.headers["etag"]})
        assert (again.status_code, again.content) == (304, b"")
        plain = await http.get("/docs/guides/delay/", headers={"accept-encoding": "identity"})
        assert "content-encoding" not in plain.headers
        assert plain.text == PAGE


async def test_an_installation_without_the_archive_says_so(tmp_path: Path) -> None:
    async with client(tmp_path / "site.zip") as http:
        answer = await http.get("/docs/")
        assert (answer.status_code, answer.text) == (404, ABSENT)
