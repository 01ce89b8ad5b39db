"""Pieces of HTML that several sections have. Every text that is shown is escaped."""

from html import escape

from .svg import element


def clip_name(name: str) -> str:
    """A name that is cut where its column ends; a pointer and a screen reader get all of it."""
    return f'<span class="name" title="{escape(name)}">{escape(name)}</span>'


def figure(caption: str, picture: str) -> str:
    """A picture below its caption."""
    return f"<figure><figcaption>{escape(caption)}</figcaption>{picture}</figure>"


def key(kind: str, text: str) -> str:
    """A line of a legend: a stroke of this CSS class, and what it means."""
    stroke = element("path", d="M1 4H27", class_=f"line {kind}")
    return f'<li><svg viewBox="0 0 28 8" aria-hidden="true">{stroke}</svg>{escape(text)}</li>'


def plural(number: int, one: str, several: str | None = None) -> str:
    """A number of things: `1 queue`, `2,000 queues`."""
    return f"{number:,} {one if number == 1 else several or one + 's'}"


def small(markup: str) -> str:
    """A line below, in small letters; nothing for nothing."""
    return f"<small>{markup}</small>" if markup else ""
