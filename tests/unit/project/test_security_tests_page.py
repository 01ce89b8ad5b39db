"""docs/security/tests.md: every test that it names is there, and there are as many cases as it says."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.support.hostile.counts import counts

ROOT = Path(__file__).parents[3]
PAGE = (ROOT / "docs/security/tests.md").read_text()
NAMED = sorted(set(re.findall(r"`([\w./]+\.(?:py|hcl)(?:::\w+)?)`", PAGE)))
ROWS = [
    [cell.strip() for cell in line.strip("|").split("|")]
    for line in PAGE.splitlines()
    if line.startswith("| ")
]


@pytest.mark.parametrize("named", NAMED)
def test_what_it_names_is_there(named: str) -> None:
    path, _, test = named.partition("::")
    places = [ROOT / path, ROOT / "tests" / path]
    (file,) = [place for place in places if place.is_file()]
    assert not test or re.search(rf"^(async )?def {test}\(", file.read_text(), re.MULTILINE)


def test_every_attack_has_a_test() -> None:
    heads = {"attack", "kind", "---"}
    attacks = [row for row in ROWS if len(row) == 3 and row[0] not in heads and not row[1][:1].isdigit()]
    assert len(attacks) >= 50
    assert [row[0] for row in attacks if "`" not in row[2]] == []


@pytest.mark.parametrize(
    ("kind", "said"),
    [
        ("signatures", "signatures that nobody made so"), ("bearer keys", "bearer keys that are none"),
        ("receipt handles", "receipt handles: each bit"), ("addresses of webhooks", "addresses of webhooks"),
        ("smuggled requests", "requests that hide another"), ("hostile requests", "malformed requests"),
    ],
)  # fmt: skip
def test_there_are_as_many_cases_as_it_says(kind: str, said: str) -> None:
    (row,) = [row for row in ROWS if row[0].startswith(said)]
    assert 0 < int(row[1].replace(",", "")) <= counts()[kind]
