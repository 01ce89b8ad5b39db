"""docs/compatibility.md lists the actions that there are, and those of AWS that there are not."""

from __future__ import annotations

import re
from pathlib import Path

import botocore.session

from penstock.actions import ACTIONS
from penstock.settings import SETTINGS

PAGE = Path(__file__).parents[3] / "docs/compatibility.md"


def listed(answer: str) -> list[str]:
    return re.findall(rf"^\| `(\w+)` \| {answer} \| {answer} \|$", PAGE.read_text(), re.MULTILINE)


def test_the_actions_in_the_order_of_the_table() -> None:
    assert listed("yes") == [action.name for action in ACTIONS if action.service == "sqs"]


def test_the_actions_that_are_missing() -> None:
    model = botocore.session.get_session().get_service_model("sqs")
    there = {action.name for action in ACTIONS if action.service == "sqs"}
    assert listed("no") == sorted(set(model.operation_names) - there)


def test_its_settings_exist() -> None:
    names = set(re.findall(r"`(QUEUE_[A-Z_]+)`", PAGE.read_text()))
    assert names
    assert names <= {setting.name for setting in SETTINGS}
