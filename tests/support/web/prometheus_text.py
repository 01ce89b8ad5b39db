"""Reads Prometheus's text format ("Exposition formats", prometheus.io)."""

import re

from tests.support import client_setup

SAMPLE = re.compile(r"(\w+)(?:\{(.*)\})? (\S+)")
LABEL = re.compile(r'(\w+)="((?:[^"\\]|\\.)*)"')

Labels = tuple[tuple[str, str], ...]


class Scrape:
    """Contains the samples in a response."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.samples: dict[tuple[str, Labels], float] = {}
        for line in text.splitlines():
            if not line.startswith("#"):
                match = SAMPLE.fullmatch(line)
                assert match, line
                name, labels, value = match.groups()
                key = name, tuple(sorted(LABEL.findall(labels or "")))
                assert key not in self.samples, line
                self.samples[key] = float(value)

    def value(self, name: str, **labels: str) -> float:
        """Returns the sample with exactly the given labels."""
        return self.samples[name, tuple(sorted(labels.items()))]

    def has(self, name: str, **labels: str) -> bool:
        """Returns whether a sample with exactly the given labels exists."""
        return (name, tuple(sorted(labels.items()))) in self.samples

    def values(self, name: str, label: str) -> dict[str, float]:
        """Returns the sums of a metric's samples by one label."""
        found: dict[str, float] = {}
        for (other, labels), value in self.samples.items():
            if other == name:
                text = dict(labels)[label]
                found[text] = found.get(text, 0) + value
        return found

    def total(self, name: str) -> float:
        """Returns the sum over all labels."""
        return sum(value for (other, _), value in self.samples.items() if other == name)


def scrape(url: str, **headers: str) -> Scrape:
    response = client_setup.get(url + "/metrics", headers=headers, timeout=60)
    assert response.status_code == 200
    assert response.headers["content-type"] == "text/plain; version=0.0.4; charset=utf-8"
    return Scrape(response.text)
