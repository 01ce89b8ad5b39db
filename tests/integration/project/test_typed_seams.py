"""mypy finds a misspelt operation in the table of actions, one of another request, and knows the type of rows."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[3]
CODE = """
from penstock import actions
from penstock.actions import Action
from penstock.effects import Call, Operation
from penstock.postgres.statements.queues import DESCRIBE_QUEUE
from penstock.sqs import types as sqs

Action("sqs", "CreateQueue", sqs.CreateQueueRequest, sqs.CreateQueueResult, actions.penstock.sqs.queues.create_queue)
Action("sqs", "CreateQueue", sqs.CreateQueueRequest, sqs.CreateQueueResult, actions.penstock.sqs.queues.creat_queue)
Action("sqs", "CreateQueue", sqs.CreateQueueRequest, None, actions.penstock.sqs.queues.delete_queue)
Action("sqs", "CreateQueue", sqs.CreateQueueRequest, sqs.TagQueueRequest, actions.penstock.sqs.queues.create_queue)


def describe() -> Operation[str]:
    rows = yield from Call(DESCRIBE_QUEUE, ("arn", False))
    reveal_type(rows)
    return rows[0].nam
"""
EXPECTED = {
    9: "attr-defined",  # no such operation
    10: "arg-type",  # an operation of another request
    11: "arg-type",  # an operation with another result
    16: "list[penstock.postgres.statements.queues.QueueRow]",
    17: "attr-defined",  # no such column
}


def test_the_seams_are_typed(tmp_path: Path) -> None:
    """Of the table's own names; a cache of its own, so that another mypy may run."""
    path = tmp_path / "seams.py"
    path.write_text(CODE)
    command = [
        sys.executable,
        "-m",
        "mypy",
        "--implicit-reexport",
        "--cache-dir",
        str(tmp_path / "cache"),
        str(path),
    ]
    output = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False).stdout
    said: dict[str, str] = {}
    for line, text in re.findall(r"seams\.py:(\d+): (.*)", output):
        said[line] = said.get(line, "") + text
    assert {int(line) for line in said} == set(EXPECTED), output
    for number, expected in EXPECTED.items():
        assert expected in re.sub(r"tuple\[.*fallback=([\w.]+)\]", r"\1", said[str(number)]), output
