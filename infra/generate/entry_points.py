"""Generates functions/<service>/<action>.py, which is the entry point of each action's function."""

import re
from collections.abc import Iterable
from typing import Any

from penstock.actions import Action

_BEGINNING = re.compile(r"(?<=[a-z])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")  # The beginning of a word within a name.

TITLES = {"sqs": "SQS", "sns": "SNS", "scheduler": "EventBridge Scheduler", "events": "EventBridge event buses"}

TEXT = '''"""Handles {action} of {title}."""

from penstock.lambda_runtime.handler import build_handler

handler = build_handler("{service}", "{action}")
'''


def name_module(action: str) -> str:
    """Returns send_message for SendMessage, and get_sms_attributes for GetSMSAttributes."""
    return _BEGINNING.sub("_", action).lower()


def render_entry_points(actions: Iterable[Action[Any, Any]]) -> dict[str, str]:
    """Maps the path of each file to its text."""
    return {
        f"functions/{action.service}/{name_module(action.name)}.py": TEXT.format(
            title=TITLES[action.service], service=action.service, action=action.name
        )
        for action in actions
    }
