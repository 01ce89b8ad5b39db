"""Converts the form of a subscriber to requests, and subscribers to fields.

The configuration has AWS's names. An empty field stands for AWS's default.
"""

from typing import Final

import msgspec

from penstock.context import Context
from penstock.documents.queue_names import build_queue_arn
from penstock.errors import InvalidParameterValue
from penstock.events.targets import BLOCKS
from penstock.management.buses.types import Filters, NewSubscriber, SubscriberDescription, SubscriberPatch
from penstock.postgres.statement import JsonObject
from penstock_web.console.forms import Form

from .fields import check_json, read_changed_tags, read_number, read_utc

SCOPES: Final = {"filter": "DATA", "filter_metadata": "METADATA", "filter_system": "SYSTEM_METADATA"}
"""The scopes of filters by the form's fields."""
_OWN_FIELDS: Final = (*SCOPES, "parameters", "size", "window", "attempts", "age", "from", "to", "tags")
FIELDS: Final = {name: name for name in _OWN_FIELDS} | dict.fromkeys(BLOCKS.values(), "parameters") | {
    "FilterConfiguration": "filter", "DATA": "filter", "METADATA": "filter_metadata",
    "SYSTEM_METADATA": "filter_system", "InvokeConfiguration": "parameters", "TargetArn": "target", "Name": "name",
    "Description": "description", "Tags": "tags", "MaxBatchSize": "size", "MaxBatchWindowInSeconds": "window",
    "MaxRetryAttempts": "attempts", "MaxEventAgeInSeconds": "age", "StartingPoint": "from", "EndPoint": "to",
    "JsonataConfiguration": "jsonata", "OnFailureConfiguration": "failure_queue",
}  # fmt: skip
"""The form's fields by the members of errors."""


def read_new(form: Form, context: Context) -> NewSubscriber:
    """Returns the subscriber of a form. Raises InvalidParameterValue and QueueDoesNotExist."""
    start = form.get("start")
    at = {"oldest": "oldest", "time": read_utc(form.get("from").strip())}.get(start)
    end = read_utc(form.get("to").strip()) if at is not None else ""
    configuration = {name: block for name, block in _read_blocks(form, context).items() if block}
    return NewSubscriber(
        name=form.get("name").strip(),
        target=form.get("target").strip(),
        type="FIFO" if form.get("fifo") else "UNORDERED",
        start=at,
        end=end or None,
        stopped=bool(form.get("stopped")),
        filters=_read_filters(form),
        configuration=configuration,
        tags=form.get_tags(),
    )


def read_patch(form: Form, context: Context) -> SubscriberPatch:
    """Returns the changes of a form, which replace all blocks that the form has. Raises InvalidParameterValue and
    QueueDoesNotExist."""
    return SubscriberPatch(_read_filters(form), _read_blocks(form, context), read_changed_tags(form))


def _read_filters(form: Form) -> Filters:
    found = {
        scope: text for field, scope in SCOPES.items() if (text := form.get_text(field)) and check_json(field, text)
    }
    return msgspec.convert({scope: msgspec.Raw(text.encode()) for scope, text in found.items()}, Filters)


def _read_blocks(form: Form, context: Context) -> JsonObject:
    retries = {"MaxRetryAttempts": read_number(form, "attempts"), "MaxEventAgeInSeconds": read_number(form, "age")}
    batch = {"MaxBatchSize": read_number(form, "size"), "MaxBatchWindowInSeconds": read_number(form, "window")}
    transformer: JsonObject = {"Type": form.get("transformer") or "RAW"}
    if form.get_text("jsonata"):
        transformer["JsonataConfiguration"] = {"Expression": form.get_text("jsonata")}
    queue = form.get("failure_queue").strip()
    parameters = _read_parameters(form)
    is_universal = "UniversalTargetParameters" in parameters and transformer == {"Type": "RAW"}
    return {
        "Description": form.get("description").strip(),
        "RetryPolicy": _drop_empty(retries),
        "BatchConfiguration": _drop_empty(batch),
        **({} if is_universal else {"Transformer": transformer}),  # AWS's API refuses it for a universal target
        "OnFailureConfiguration": {"Arn": queue if ":" in queue else build_queue_arn(queue, context)} if queue else {},
        "InvokeConfiguration": parameters,
    }


def _drop_empty(block: JsonObject) -> JsonObject:
    return {name: value for name, value in block.items() if value is not None}


def _read_parameters(form: Form) -> JsonObject:
    text = form.get_text("parameters")
    if not text:
        return {}
    check_json("parameters", text)
    found = msgspec.json.decode(text)
    if not isinstance(found, dict):
        raise InvalidParameterValue(
            'parameters: a JSON object, such as {"SqsParameters": {"MessageGroupId": "a"}}', member="parameters"
        )
    return found


# --- stored subscribers ----------------------------------------------------------------------------------------------
def fill(shown: SubscriberDescription) -> dict[str, str]:
    """Returns the fields of a stored subscriber, without its name and target."""
    blocks = {name: value if isinstance(value, dict) else {} for name, value in shown.configuration.items()}
    retries, batch = blocks.get("RetryPolicy", {}), blocks.get("BatchConfiguration", {})
    transformer = blocks.get("Transformer", {})
    invoke = blocks.get("InvokeConfiguration", {})
    parameters = {name: value for name, value in invoke.items() if name.endswith("Parameters")}
    return {
        **fill_filters(shown),
        "description": str(shown.configuration.get("Description") or ""),
        "fifo": "1" if shown.type == "FIFO" else "",
        "attempts": str(retries.get("MaxRetryAttempts", "")),
        "age": str(retries.get("MaxEventAgeInSeconds", "")),
        "size": str(batch.get("MaxBatchSize", "")),
        "window": str(batch.get("MaxBatchWindowInSeconds", "")),
        "transformer": str(transformer.get("Type", "RAW")),
        "jsonata": (transformer.get("JsonataConfiguration") or {}).get("Expression", ""),
        "failure_queue": blocks.get("OnFailureConfiguration", {}).get("Arn", ""),
        "parameters": _indent(msgspec.json.encode(parameters).decode()) if parameters else "",
    }


def fill_filters(shown: SubscriberDescription) -> dict[str, str]:
    """Returns the patterns by the form's fields."""
    listed = (shown.configuration.get("FilterConfiguration") or {}).get("Filters", [])
    by_scope = {each["Scope"]: each["Pattern"] for each in listed}
    return {field: _indent(by_scope[scope]) for field, scope in SCOPES.items() if scope in by_scope}


def _indent(text: str) -> str:
    return msgspec.json.format(text, indent=2)
