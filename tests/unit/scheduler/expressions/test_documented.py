"""docs/schedules.md says what the code does: its table of expressions."""

import re
from pathlib import Path

from penstock.scheduler.expressions.expression import parse, parse_aws

ROW = re.compile(r"\| `?([A-Za-z_ ]+?)`? \| `([^`]+)` \| `([^`]+)` \| (.+) \|")


def test_the_table_of_expressions() -> None:
    text = (Path(__file__).parents[4] / "docs/schedules.md").read_text()
    rows = ROW.findall(text)
    assert {form for form, *_ in rows} == {"cron", "every", "when", "fire_at", "EventBridge Scheduler"}
    for form, written, canonical, description in rows:
        expression = parse_aws(written) if form.startswith("EventBridge") else parse(**{form: written})
        assert (expression.canonical, expression.description()) == (canonical, description)
