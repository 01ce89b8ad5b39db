"""Chooses a format that a scraper accepts: OpenMetrics or Prometheus's text, with or without gzip (RFC 9110, 12.4.2,
12.5.1 and 12.5.3).
"""

from typing import Final, NamedTuple

OPENMETRICS: Final = "application/openmetrics-text"
VERSIONS: Final = ("", "1.0.0")
PLAIN: Final = ("text/plain", "text/*", "*/*")


class Choice(NamedTuple):
    """Represents an entry of a header: the value and parameters in lower case, and the quality from 0 to 1."""

    value: str
    parameters: dict[str, str]
    quality: float


def choices(header: str) -> list[Choice]:
    """Returns the entries of Accept or Accept-Encoding. An invalid quality counts as 0."""
    found = []
    for entry in header.lower().split(","):
        value, *rest = (part.strip() for part in entry.split(";"))
        parameters = {name.strip(): text.strip(' "') for name, _, text in (part.partition("=") for part in rest)}
        try:
            quality = float(parameters.pop("q", "1"))
        except ValueError:
            quality = 0.0
        found.append(Choice(value, parameters, quality))
    return found


def wants_openmetrics(accept: str) -> bool:
    """Returns whether the header accepts OpenMetrics 1.0.0 with at least the quality of text/plain."""
    found = choices(accept)
    named = [
        choice.quality
        for choice in found
        if choice.value == OPENMETRICS and choice.parameters.get("version", "") in VERSIONS
    ]
    plain = [choice.quality for choice in found if choice.value in PLAIN]
    return max(named, default=0.0) > 0 and max(named) >= max(plain, default=0.0)


def takes_gzip(accept_encoding: str) -> bool:
    """Returns whether the header accepts gzip."""
    qualities = {choice.value: choice.quality for choice in choices(accept_encoding)}
    return qualities.get("gzip", qualities.get("*", 0.0)) > 0
