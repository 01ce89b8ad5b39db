"""Writes pieces of HTML that several sections have. Every shown text is escaped."""

from html import escape

from .svg import element


def clip_name(name: str) -> str:
    """Returns a name that is cut where its column ends. A pointer and a screen reader get all of it."""
    return f'<span class="name" title="{escape(name)}">{escape(name)}</span>'


def figure(caption: str, picture: str) -> str:
    """Returns a picture below its caption."""
    return f"<figure><figcaption>{escape(caption)}</figcaption>{picture}</figure>"


def key(kind: str, text: str) -> str:
    """Returns a line of a legend: a stroke of this CSS class, and its meaning."""
    stroke = element("path", d="M1 4H27", class_=f"line {kind}")
    return f'<li><svg viewBox="0 0 28 8" aria-hidden="true">{stroke}</svg>{escape(text)}</li>'


def plural(number: int, one: str, several: str | None = None) -> str:
    """Formats a number of things: `1 queue`, `2,000 queues`."""
    return f"{number:,} {one if number == 1 else several or one + 's'}"


def small(markup: str) -> str:
    """Returns a line below in small letters, or nothing without a text."""
    return f"<small>{markup}</small>" if markup else ""
