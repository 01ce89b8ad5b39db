"""Reads the HTML of a report: its pictures, its tables, and what keeps people from reading it."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from html.parser import HTMLParser
from xml.etree import ElementTree as ET


def pictures(page: str) -> dict[str, ET.Element]:
    """Those that are described, by their descriptions. Raises when one is no XML."""
    found = [ET.fromstring(text) for text in re.findall(r"<svg.*?</svg>", page, re.DOTALL)]
    return {picture.get("aria-label", ""): picture for picture in found if picture.get("role") == "img"}


def of_class(picture: ET.Element, name: str) -> list[ET.Element]:
    """The elements of a picture that have this CSS class."""
    return [element for element in picture.iter() if name in element.get("class", "").split()]


def table(page: str, kind: str) -> list[dict[str, str]]:
    """The rows of the first table of this CSS class, by their columns' heads. Pictures are `(picture)`."""
    match = re.search(rf'<table class="{kind}".*?</table>', page, re.DOTALL)
    if match is None:
        return []
    text = re.sub(r"<svg.*?</svg>", "(picture)", match[0], flags=re.DOTALL)
    heads, *rows = [
        [_text(cell) for cell in re.findall(r"<(?:th|td)[ >].*?</(?:th|td)>", row, re.DOTALL)]
        for row in re.findall(r"<tr.*?</tr>", text, re.DOTALL)
    ]
    return [dict(zip(heads, row, strict=True)) for row in rows]


def _text(markup: str) -> str:
    return " ".join(re.sub(r"<[^>]*>", " ", markup).split())


@dataclass
class Barriers(HTMLParser):
    """What a checker of accessibility would report (rules of WCAG 2.2 that can be read off the markup)."""

    found: list[str] = field(default_factory=list)
    levels: list[int] = field(default_factory=list)
    ids: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        super().__init__()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        known = dict(attrs)
        if re.fullmatch(r"h[1-6]", tag):
            self._heading(int(tag[1]))
        if tag == "html" and not known.get("lang"):
            self.found.append("html without lang")
        if tag == "th" and known.get("scope") not in ("col", "row"):
            self.found.append("th without scope")
        if tag == "svg" and known.get("aria-hidden") != "true" and not known.get("aria-label"):
            self.found.append("svg without a name")
        if int(known.get("tabindex") or 0) > 0:
            self.found.append("tabindex above 0")
        if "id" in known:
            self.found += ["an id twice"] * (known["id"] in self.ids)
            self.ids.append(known["id"] or "")

    def _heading(self, level: int) -> None:
        if level > (self.levels[-1] if self.levels else 0) + 1:
            self.found.append(f"h{level} follows h{self.levels[-1] if self.levels else 0}")
        self.levels.append(level)


def barriers(page: str) -> list[str]:
    """The barriers of the page; empty if it has none."""
    reader = Barriers()
    reader.feed(page)
    if reader.levels.count(1) != 1:
        reader.found.append("not one h1")
    if page.count("<main>") != 1:
        reader.found.append("not one main")
    return reader.found
