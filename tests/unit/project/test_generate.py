"""Checks that `make generate` writes the files that repeat the table of actions, and that `make check` detects
differences.
"""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
import yaml

from infra.generate.__main__ import ROOT, main
from infra.generate.blocks import MarkerError, replace_blocks
from infra.generate.files import ALARMS, ALB, COMPATIBILITY, TEMPLATE, generate_texts, write_files
from infra.generate.load_balancer import PRIORITIES, PriorityError, assign_priorities
from infra.generate.systemd import TEMPLATE_UNIT, UNIT
from penstock.access.resources import use_account
from penstock.actions import ACTIONS, Action
from penstock.scheduler.types import GetScheduleRequest
from penstock.sqs.types import PurgeQueueRequest
from penstock.sqs.uses import use_queue
from tests.support.local_lambda.template import CloudFormationLoader, Values, expand_for_each, read_balancer

PAUSE = Action("sqs", "PauseQueue", PurgeQueueRequest, None, ACTIONS[0].operation, use_queue)
RUN = Action(
    "scheduler", "RunSchedule", GetScheduleRequest, None, ACTIONS[0].operation, use_account, "PATCH /schedules/{Name}"
)
# The new action is in the middle of the table, where numbering by position would change all later actions.
MORE = (*ACTIONS[:3], PAUSE, *ACTIONS[3:], RUN)

FUNCTION = "functions/sqs/pause_queue.py"


@pytest.fixture
def copy(tmp_path: Path) -> Path:
    for name in (UNIT, *generate_texts(ROOT, ACTIONS)):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(ROOT / name, tmp_path / name)
    return tmp_path


def read(text: str) -> dict[str, Any]:
    return dict(yaml.load(text, CloudFormationLoader))


def added(name: str, files: dict[str, str]) -> dict[str, Any]:
    """Returns the resources that only the new template contains. Fails if the new template lacks a resource that the
    repository's template contains."""
    before = expand_for_each(read((ROOT / name).read_text())["Resources"])
    after = expand_for_each(read(files[name])["Resources"])
    assert after.items() >= before.items()
    return {key: value for key, value in after.items() if key not in before}


def numbers(folder: Path) -> dict[str, int]:
    """Returns the priority of each function's rule."""
    return {rule.function: rule.priority for rule in read_balancer(folder / ALB)[0]}


def row(name: str, number: int) -> str:
    return f"    {name}: {{Number: {number}}}"


def test_an_action_gets_an_entry_point() -> None:
    text = generate_texts(ROOT, MORE)[FUNCTION]
    assert 'handler = build_handler("sqs", "PauseQueue")' in text
    assert text.startswith('"""Handles PauseQueue of SQS."""')


def test_an_action_gets_a_function() -> None:
    more = added(TEMPLATE, generate_texts(ROOT, MORE))
    assert more.keys() == {"SqsPauseQueue", "SchedulerRunSchedule"}
    assert more["SqsPauseQueue"]["Properties"] == {
        "Handler": "sqs.pause_queue.handler",
        "FunctionName": {"Fn::Sub": "${AWS::StackName}-SqsPauseQueue"},
        "Role": {"Fn::GetAtt": ["FunctionRole", "Arn"]},
    }
    (event,) = more["SchedulerRunSchedule"]["Properties"]["Events"].values()
    assert (event["Properties"]["Method"], event["Properties"]["Path"]) == ("PATCH", "/schedules/{name}")


def test_an_action_gets_a_rule_and_others_keep_their_priorities(copy: Path) -> None:
    before = numbers(copy)
    write_files(copy, MORE)
    after = numbers(copy)
    assert after.items() > before.items()
    assert {name: after[name] for name in after.keys() - before.keys()} == {
        "SqsPauseQueue": max(n for name, n in before.items() if name.startswith("Sqs")) + 1,
        "SchedulerRunSchedule": max(n for name, n in before.items() if name.startswith("Scheduler")) + 1,
    }
    (rule,) = (rule for rule in read_balancer(copy / ALB)[0] if rule.function == "SchedulerRunSchedule")
    assert (rule.methods, rule.paths) == (("PATCH",), ("/schedules/*",))
    targets = added(ALB, generate_texts(copy, MORE))
    assert {f"SqsPauseQueue{kind}" for kind in ("Allowed", "Targets", "Rule")} < targets.keys()


def test_an_action_gets_alarms() -> None:
    text = generate_texts(ROOT, MORE)[ALARMS]
    more = added(ALARMS, {ALARMS: text})
    assert more.keys() == {
        f"{name}{alarm}"
        for name in ("SqsPauseQueue", "SchedulerRunSchedule")
        for alarm in ("Errors", "Throttles", "Slow")
    }
    properties = Values(read(text), {}).resolve(more["SqsPauseQueueErrors"]["Properties"])
    assert "penstock-SqsPauseQueue" in properties["AlarmDescription"]


def test_an_action_gets_a_line_of_the_page() -> None:
    before = (ROOT / COMPATIBILITY).read_text().splitlines()
    after = generate_texts(ROOT, MORE)[COMPATIBILITY].splitlines()
    assert [line for line in after if line not in before] == ["| `PauseQueue` | yes | yes |"]
    without = tuple(action for action in ACTIONS if action.name != "PurgeQueue")
    assert "| `PurgeQueue` | no | no |" in generate_texts(ROOT, without)[COMPATIBILITY]


def test_the_repository_is_as_generated(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--check"]) == 0
    assert capsys.readouterr().err == ""


@pytest.mark.parametrize(
    ("name", "before", "after"),
    [
        ("functions/sqs/send_message.py", '"SendMessage"', '"SendMessages"'),
        (TEMPLATE, "Handler: sqs.send_message.handler", "Handler: sqs.send.handler"),
        (ALB, "SendMessage: {Number: 8}", "SendMessage: {Number: 7}"),
        (ALB, "[CreateQueue, DeleteQueue, ", "[CreateQueue, "),
        (ALARMS, "SqsPurgeQueue, ", ""),
        (COMPATIBILITY, "| `SendMessage` | yes | yes |", "| `SendMessage` | yes | no |"),
    ],
)
def test_a_hand_edit_is_found_and_mended(
    copy: Path, name: str, before: str, after: str, capsys: pytest.CaptureFixture[str]
) -> None:
    text = (copy / name).read_text()
    assert before in text
    (copy / name).write_text(text.replace(before, after, 1))
    assert main(["--check"], copy) == 1
    found = capsys.readouterr().err
    assert f"{name}: differs" in found
    assert "run make generate" in found
    assert main([], copy) == 0
    assert main(["--check"], copy) == 0


def test_a_missing_file_is_found_and_written(copy: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = copy / "functions/sns/publish.py"
    file.unlink()
    assert main(["--check"], copy) == 1
    assert "functions/sns/publish.py: missing" in capsys.readouterr().err
    assert not file.exists()
    assert main([], copy) == 0
    assert file.read_text() == (ROOT / "functions/sns/publish.py").read_text()


def test_a_stale_file_is_found_and_deleted(copy: Path, capsys: pytest.CaptureFixture[str]) -> None:
    by_hand = copy / "functions/gateway.py"
    by_hand.touch()
    write_files(copy, MORE)
    assert main(["--check"], copy) == 1
    assert f"{FUNCTION}: has no action" in capsys.readouterr().err
    assert (copy / FUNCTION).exists()
    assert main([], copy) == 0
    assert not (copy / FUNCTION).exists()
    assert by_hand.exists()
    assert (copy / TEMPLATE).read_text() == (ROOT / TEMPLATE).read_text()


def test_the_template_unit_runs_the_service_on_the_port_of_the_instance(copy: Path) -> None:
    """Other lines are those of penstock.service, so an instance has the same limits."""
    unit, template = ((copy / name).read_text().splitlines() for name in (UNIT, TEMPLATE_UNIT))
    different = {line for line in template if line not in unit and not line.startswith("#")}
    command = "ExecStart=/opt/penstock/bin/penstock up --no-migrate --port %i"
    assert different == {"Description=Penstock on port %i", command}
    (copy / UNIT).write_text((copy / UNIT).read_text().replace("up --no-migrate", "up"))
    with pytest.raises(MarkerError, match="--no-migrate"):
        generate_texts(copy, ACTIONS)


def test_a_removed_action_leaves_the_other_priorities_alone() -> None:
    present = [row("A", 1), row("B", 2), row("C", 3)]
    assert assign_priorities("sqs", ["A", "C"], present) == {"A": 1, "C": 3}
    assert assign_priorities("sqs", ["D", "A", "B"], present) == {"A": 1, "B": 2, "D": 4}


@pytest.mark.parametrize("wrong", [2, 77, 0])
def test_a_priority_that_is_taken_or_of_another_service_is_replaced(wrong: int) -> None:
    """Two branches can both have added an action."""
    present = [row("A", 1), row("B", 2), row("C", wrong)]
    assert assign_priorities("sqs", ["A", "B", "C"], present) == {"A": 1, "B": 2, "C": 3}


@pytest.mark.parametrize("service", PRIORITIES)
def test_a_service_has_so_many_priorities(service: str) -> None:
    with pytest.raises(PriorityError, match=service):
        assign_priorities(service, [f"Action{number}" for number in range(200)], [])


BEGIN, END = "# --- generated by make generate: a ---", "# --- end ---"


@pytest.mark.parametrize(
    "lines", [[], [BEGIN], [END, BEGIN], [BEGIN, END, BEGIN, END], [BEGIN, BEGIN.replace("a ---", "b ---"), END]]
)
def test_markers_must_be_whole(lines: Sequence[str]) -> None:
    with pytest.raises(MarkerError, match=r"file\.yaml"):
        replace_blocks("\n".join(lines), "file.yaml", {"a": ["x"]})


def test_lines_outside_the_markers_stay() -> None:
    text = f"before\n{BEGIN}\nold\nolder\n{END}\nafter\n"
    assert replace_blocks(text, "file.yaml", {"a": ["new"]}) == f"before\n{BEGIN}\nnew\n{END}\nafter\n"
