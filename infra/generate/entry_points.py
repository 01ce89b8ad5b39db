"""Generates functions/<service>/<action>.py: the entry point of each action's function, a file of five lines."""

import re
from collections.abc import Iterable
from typing import Any

from penstock.actions import Action

_BEGINNING = re.compile(r"(?<=[a-z])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")  # of a word within a name

TITLES = {"sqs": "SQS", "sns": "SNS", "scheduler": "EventBridge Scheduler"}

TEXT = '''"""{title} {action}."""

from penstock.lambda_runtime.handler import make_handler

handler = make_handler("{service}", "{action}")
'''


def name_module(action: str) -> str:
    """SendMessage -> send_message, GetSMSAttributes -> get_sms_attributes."""
    return _BEGINNING.sub("_", action).lower()


def render_entry_points(actions: Iterable[Action[Any, Any]]) -> dict[str, str]:
    """Returns the text of each file, by its path in the repository."""
    return {
        f"functions/{action.service}/{name_module(action.name)}.py": TEXT.format(
            title=TITLES[action.service], service=action.service, action=action.name
        )
        for action in actions
    }
