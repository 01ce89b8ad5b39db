"""Serves styles and scripts. Addresses contain a digest of the content, so browsers keep them for a year.

htmx.min.js is htmx 4.0.1 of npm, unchanged. static/README.md has its address there, its digest and its licence.
"""

from functools import cache
from hashlib import sha256
from importlib.resources import files
from typing import Final

TYPES: Final = {
    ".css": "text/css; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".svg": "image/svg+xml",
}


@cache
def read_asset(name: str) -> tuple[bytes, str] | None:
    """Returns the content of a file in static/ and its type, or None if no file has this name."""
    kind = TYPES.get("." + name.rpartition(".")[2])
    folder = files(__package__) / "static"
    if kind is None or name not in {file.name for file in folder.iterdir()}:
        return None
    return (folder / name).read_bytes(), kind


@cache
def asset_path(name: str) -> str:
    """Returns the path of an asset, with a part of its digest. Raises KeyError for an unknown asset."""
    found = read_asset(name)
    if found is None:
        raise KeyError(name)
    return f"/console/static/{name}?{sha256(found[0]).hexdigest()[:12]}"
