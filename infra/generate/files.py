"""Generates the texts of all generated files, compares them with the files, and writes the files."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import botocore.session

from penstock.actions import Action

from .blocks import read_block, replace_blocks, wrap_list
from .entry_points import render_entry_points
from .load_balancer import has_rule, render_rules
from .sam_template import name_resource, render_functions
from .settings import render_setting_texts
from .systemd import TEMPLATE_UNIT, render_template_unit

TEMPLATE, ALB, ALARMS = "template.yaml", "infra/alb/template.yaml", "infra/alarms/template.yaml"
COMPATIBILITY = "docs/reference/compatibility.md"

# The functions that serve clients, but not one single action. They have the same alarms as the functions of actions.
CLIENT_FUNCTIONS = ("Gateway", "Rest")


def generate_texts(root: Path, actions: Sequence[Action[Any, Any]]) -> dict[str, str]:
    """Maps the path of each generated file to its text. Raises MarkerError and PriorityError."""
    return {
        **render_entry_points(actions),
        TEMPLATE: _render_template(root, actions),
        ALB: _render_load_balancer(root, actions),
        ALARMS: _render_alarms(root, actions),
        COMPATIBILITY: replace_blocks(
            (root / COMPATIBILITY).read_text(), COMPATIBILITY, {"actions": _render_compatibility(actions)}
        ),
        TEMPLATE_UNIT: render_template_unit(root),
        **render_setting_texts(root),
    }


def find_differences(root: Path, actions: Sequence[Action[Any, Any]]) -> list[str]:
    """Returns one line for each file that is missing, different or stale."""
    found = []
    for name, text in generate_texts(root, actions).items():
        file = root / name
        if not file.exists():
            found.append(f"{name}: missing")
        elif file.read_text() != text:
            found.append(f"{name}: differs")
    return [*found, *(f"{name}: has no action" for name in _find_stale(root, actions))]


def write_files(root: Path, actions: Sequence[Action[Any, Any]]) -> list[str]:
    """Writes changed files and deletes stale files. Returns one line for each written or deleted file."""
    found = find_differences(root, actions)
    changed = [line.rpartition(": ")[0] for line in found]
    texts = generate_texts(root, actions)
    for name in changed:
        file = root / name
        if name in texts:
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(texts[name])
        else:
            file.unlink()
    return found


def _find_stale(root: Path, actions: Sequence[Action[Any, Any]]) -> list[str]:
    """Returns the entry points without an action. Omits files outside the services' folders, which are not
    generated."""
    expected = render_entry_points(actions)
    existing = (file.relative_to(root).as_posix() for file in sorted(root.glob("functions/*/*.py")))
    return [name for name in existing if name not in expected]


def list_services(actions: Sequence[Action[Any, Any]]) -> list[str]:
    """Returns the services of the given actions, in the order of the table."""
    return list(dict.fromkeys(action.service for action in actions))


def _select_actions(service: str, actions: Sequence[Action[Any, Any]]) -> list[Action[Any, Any]]:
    return [action for action in actions if action.service == service]


def _render_template(root: Path, actions: Sequence[Action[Any, Any]]) -> str:
    blocks = {
        f"functions of {service}": render_functions(_select_actions(service, actions))
        for service in list_services(actions)
    }
    return replace_blocks((root / TEMPLATE).read_text(), TEMPLATE, blocks)


def _render_load_balancer(root: Path, actions: Sequence[Action[Any, Any]]) -> str:
    text = (root / ALB).read_text()
    blocks = {}
    reached = list(filter(has_rule, actions))
    for service in list_services(reached):
        own, name = _select_actions(service, reached), f"rules of {service}"
        blocks[name] = render_rules(service, own, read_block(text, ALB, name))
        blocks[f"actions of {service}"] = ["    -", *wrap_list([action.name for action in own], 6)]
    return replace_blocks(text, ALB, blocks)


def _render_alarms(root: Path, actions: Sequence[Action[Any, Any]]) -> str:
    # No rule leads to the functions of other actions, so they are not invoked and need no alarm.
    reached = list(filter(has_rule, actions))
    sns = [name_resource(action) for action in reached if action.service == "sns"]
    names = [*CLIENT_FUNCTIONS, *(name_resource(action) for action in reached if action.service != "sns")]
    blocks = {"alarms": ["    -", *wrap_list(names, 6)], "alarms of sns": ["    -", *wrap_list(sns, 6)]}
    return replace_blocks((root / ALARMS).read_text(), ALARMS, blocks)


def _render_compatibility(actions: Sequence[Action[Any, Any]]) -> list[str]:
    """Returns the table of SQS's actions. The implemented actions come before the missing actions."""
    names = [action.name for action in actions if action.service == "sqs"]
    model = botocore.session.get_session().get_service_model("sqs")
    missing = sorted(set(model.operation_names) - set(names))
    return [
        "| action | container | Lambda |",
        "| --- | --- | --- |",
        *(f"| `{name}` | yes | yes |" for name in names),
        *(f"| `{name}` | no | no |" for name in missing),
    ]
