"""Generates the table of SQS's actions in docs/reference/compatibility.md. The implemented actions come before the
missing actions."""

from collections.abc import Iterable
from typing import Any

import botocore.session

from penstock.actions import Action


def render_compatibility(actions: Iterable[Action[Any, Any]]) -> list[str]:
    names = [action.name for action in actions if action.service == "sqs"]
    model = botocore.session.get_session().get_service_model("sqs")
    missing = sorted(set(model.operation_names) - set(names))
    return [
        "| action | container | Lambda |",
        "| --- | --- | --- |",
        *(f"| `{name}` | yes | yes |" for name in names),
        *(f"| `{name}` | no | no |" for name in missing),
    ]
