"""docs/topics.md lists the actions of SNS that there are."""

from __future__ import annotations

import re
from pathlib import Path

from penstock.actions import ACTIONS

PAGE = Path(__file__).parents[3] / "docs/topics.md"


def test_its_actions_are_those_of_the_table() -> None:
    rows = [line for line in PAGE.read_text().splitlines() if line.startswith("| `")]
    listed = {name for row in rows for name in re.findall(r"`([A-Z]\w+)` \|", row)}
    assert listed == {action.name for action in ACTIONS if action.service == "sns"}
