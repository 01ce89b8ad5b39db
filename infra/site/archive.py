"""Packs the built site, with the Content-Security-Policy for its pages."""

import base64
import re
from hashlib import sha256
from pathlib import Path
from typing import Final
from zipfile import ZIP_DEFLATED, ZipFile, ZipInfo

POLICY_NAME: Final = "content-security-policy.txt"
_INLINE_SCRIPT: Final = re.compile(r"<script>(.*?)</script>", re.DOTALL)
# zensical's script adds a style for the search. The patterns find the style's variable and the style's text.
_STYLE_NAME: Final = re.compile(r'"style",\{\},(\w+)\.toString')
_STYLE_TEXT: Final = "var {}='([^'\\\\]*)'"
# The time of all files in an archive, so that an archive of the same files has the same bytes.
_TIME: Final = (1980, 1, 1, 0, 0, 0)
# The files that zensical copies but the site does not use.
_UNUSED: Final = ("assets/stylesheets/classic/", "sitemap.xml", "objects.inv")


def pack(html: Path, archive: Path) -> Path:
    """Packs a folder into an archive. Returns the archive's path."""
    scripts: set[str] = set()
    styles: set[str] = set()
    with ZipFile(archive, "w") as packed:
        for file in sorted(file for file in html.rglob("*") if file.is_file()):
            name = file.relative_to(html).as_posix()
            if name.startswith(_UNUSED):
                continue
            content = file.read_bytes()
            if name.endswith(".html"):
                page = _without_style_attributes(content.decode())
                scripts.update(_INLINE_SCRIPT.findall(page))
                content = page.encode()
            elif name.startswith("assets/javascripts/bundle."):
                styles.add(find_style(content.decode()))
            _write(packed, name, content)
        _write(packed, POLICY_NAME, render_policy(scripts, styles).encode())
    return archive


def _write(packed: ZipFile, name: str, content: bytes) -> None:
    entry = ZipInfo(name, _TIME)
    entry.compress_type = ZIP_DEFLATED
    packed.writestr(entry, content)


def find_style(script: str) -> str:
    """Returns the style that zensical's script adds to a page. Raises ValueError if the script has another format."""
    name = _STYLE_NAME.search(script)
    text = re.search(_STYLE_TEXT.format(name[1]), script) if name else None
    if text is None:
        raise ValueError("zensical's script adds its style in another way: find_style needs an update")
    return text[1]


def _without_style_attributes(page: str) -> str:
    """Returns a page with classes in place of style attributes, which the policy forbids."""
    aligned = page.replace(' style="text-align: right;"', ' class="right"')
    return aligned.replace(' style="text-align: left;"', "")


def render_policy(scripts: set[str], styles: set[str]) -> str:
    """Returns the policy that allows the site's files and, by their hashes, inline scripts and styles."""
    return (
        f"default-src 'none'; script-src 'self' {_hash_all(scripts)}; style-src 'self' {_hash_all(styles)}; "
        "img-src 'self' data:; connect-src 'self'; worker-src 'self'; base-uri 'none'; form-action 'none'; "
        "frame-ancestors 'none'"
    )


def _hash_all(texts: set[str]) -> str:
    digests = (base64.b64encode(sha256(text.encode()).digest()).decode() for text in texts)
    return " ".join(sorted(f"'sha256-{digest}'" for digest in digests))
