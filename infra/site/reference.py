"""Renders the reference pages that come from code, for REST, commands, SQL functions, and actions with their cases."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import typer.main

from penstock.actions import ACTIONS, MAPPING_ACTIONS, STS_ACTIONS
from penstock.environment import Environment
from penstock_web.cli import application
from penstock_web.rest.application import RestApplication
from tests.support.cases.table import page as render_cases

# Maps each service to its title and the page that describes its actions.
_SERVICES = {
    "sqs": ("Amazon SQS", "compatibility.md"),
    "sns": ("Amazon SNS", "topics.md"),
    "scheduler": ("EventBridge Scheduler", "eventbridge_scheduler.md"),
    "events": ("EventBridge event buses", "event_bus.md"),
    "lambda": ("Lambda: event source mappings", "event_source_mappings.md"),
    "sts": ("Security Token Service", "../guides/endpoints.md#when-not-to-set-aws_endpoint_url"),
}


def render_reference(root: Path) -> dict[str, str]:
    """Maps the path of each generated page in docs/ to its text."""
    return {
        "reference/rest.md": "\n".join(_render_rest()),
        "reference/commands.md": "\n".join(_render_commands()),
        "reference/sql_functions.md": "\n".join(_render_functions(root / "sql/functions/api")),
        "reference/actions.md": "\n".join(_render_actions()),
        "reference/cases.md": render_cases(),
    }


def _render_actions() -> Iterator[str]:
    yield "# Actions\n"
    yield "For developers: look up whether Penstock implements an action of AWS.\n"
    yield "[Compatibility](compatibility.md) has differences, [Limits of SQS](limits.md) has limits,"
    yield "[Unusual requests](cases.md) has answers.\n"
    for service, (title, page) in _SERVICES.items():
        served = (*ACTIONS, *MAPPING_ACTIONS, *STS_ACTIONS)
        names = sorted(action.name for action in served if action.service == service)
        yield f"## {title}\n\n[Details]({page}): {', '.join(f'`{name}`' for name in names)}\n"


# --- REST ------------------------------------------------------------------------------------------------------------
def _render_rest() -> Iterator[str]:
    """Renders the OpenAPI document as a page, which has each request with its parameters, body and responses."""
    environment = cast("Environment", SimpleNamespace(access=object()))
    document = RestApplication(environment, cast("Any", None)).openapi()
    schemas: Mapping[str, Any] = document["components"]["schemas"]
    yield "# REST API\n"
    yield "For developers: look up the path, the parameters, the body and the responses of a request.\n"
    yield "A running service serves the same contents as an OpenAPI document at `/v1/openapi.json`, also with the"
    yield "schemas of all responses.\n"
    common = _find_common_errors(document)
    yield "## Errors of every request\n"
    yield "Every request below `/v1` can fail with these errors ([Errors](errors.md)), and lists only other errors.\n"
    yield from _render_table(("status", "codes"), [(status, ", ".join(codes)) for status, codes in common.items()])
    sections: dict[str, list[str]] = defaultdict(list)
    for path, methods in document["paths"].items():
        for method, operation in methods.items():
            sections[operation.get("tags", ["service"])[0]].extend(
                _render_request(method.upper(), path, operation, schemas, common)
            )
    for tag, lines in sections.items():
        yield f"## {tag.capitalize()}\n"
        yield from lines


def _find_common_errors(document: Mapping[str, Any]) -> dict[str, list[str]]:
    """Maps each status to the codes that all requests below /v1/queues have."""
    operations = [
        operation
        for path, methods in document["paths"].items()
        if path.startswith("/v1/queues")
        for operation in methods.values()
    ]
    found = [{(status, code) for status, code in _list_errors(operation)} for operation in operations]
    common: dict[str, list[str]] = defaultdict(list)
    for status, code in sorted(set.intersection(*found)):
        common[status].append(code)
    return common


def _list_errors(operation: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    for status, response in operation["responses"].items():
        if status >= "400":
            yield from ((status, code) for code in _name_response(response).split(", "))


def _render_request(
    method: str,
    path: str,
    operation: Mapping[str, Any],
    schemas: Mapping[str, Any],
    common: Mapping[str, Sequence[str]],
) -> Iterator[str]:
    yield f"### {method} {path}\n"
    yield f"{_join(operation.get('description') or operation['summary'])}\n"
    parameters = [
        (
            f"`{each['name']}`",
            _name_type(each["schema"], schemas),
            "yes" if each.get("required") else "",
            each["description"],
        )
        for each in operation.get("parameters", ())
    ]
    yield from _render_table(("parameter", "type", "required", "meaning"), parameters)
    for content in operation.get("requestBody", {}).get("content", {}).values():
        yield from _render_members("Body", content["schema"], schemas)
        if "example" in content:
            yield f"Example:\n\n```json\n{json.dumps(content['example'])}\n```\n"
    for status, response in operation["responses"].items():
        if status < "400":
            yield from _render_response(status, response, schemas)
    others = [
        f"{status} {code}".strip() for status, code in _list_errors(operation) if code not in common.get(status, ())
    ]
    if others:
        yield f"Errors: {', '.join(others)}.\n"


def _render_response(status: str, response: Mapping[str, Any], schemas: Mapping[str, Any]) -> Iterator[str]:
    """Renders a line with the members of a response."""
    contents = response.get("content", {}).values()
    schema = _resolve(next((content.get("schema", {}) for content in contents), {}), schemas)
    schema = next(iter(schema.get("anyOf", ())), schema)
    kind = "a list of " if schema.get("type") == "array" else ""
    schema = _resolve(schema.get("items", schema) if kind else schema, schemas)
    members = ", ".join(
        f"`{name}` ({_name_type(part, schemas)})" for name, part in schema.get("properties", {}).items()
    )
    text = f": {kind}{members}" if members else (": no body" if status == "204" else "")
    yield f"Response {status}{text}.\n"


def _name_response(response: Mapping[str, Any]) -> str:
    return _join(response["description"]).replace("Successful Response", "").partition(": ")[2]


def _render_members(title: str, schema: Mapping[str, Any], schemas: Mapping[str, Any]) -> Iterator[str]:
    """Renders the members of an object. A body with several forms has a table for each form."""
    schema = _resolve(schema, schemas)
    for alternative in schema.get("anyOf", ()):
        yield from _render_members(title, alternative, schemas)
    if schema.get("type") == "array":
        yield from _render_members(f"{title}, a list of", schema.get("items", {}), schemas)
    required = schema.get("required", ())
    members = [
        (
            f"`{name}`",
            _name_type(member, schemas),
            "yes" if name in required else "",
            _join(member.get("description", "")),
        )
        for name, member in schema.get("properties", {}).items()
    ]
    if members:
        yield f"{title} (`{schema.get('title', 'object')}`):\n"
        yield from _render_table(("member", "type", "required", "meaning"), members)


def _resolve(schema: Mapping[str, Any], schemas: Mapping[str, Any]) -> Mapping[str, Any]:
    reference = schema.get("$ref")
    resolved: Mapping[str, Any] = schemas[reference.rpartition("/")[2]] if reference else schema
    return resolved


def _name_type(schema: Mapping[str, Any], schemas: Mapping[str, Any]) -> str:
    """Returns a short description of a type and its limits."""
    if "anyOf" in schema:
        return " or ".join(dict.fromkeys(_name_type(each, schemas) for each in schema["anyOf"]))
    schema = _resolve(schema, schemas)
    if "enum" in schema:
        return ", ".join(f"`{value}`" for value in schema["enum"])
    kind = str(schema.get("type", "any value"))
    if kind == "array":
        return f"list of {_name_type(schema.get('items', {}), schemas)}"
    limits = [
        f"{word} {schema[key]}"
        for key, word in (("minimum", "≥"), ("maximum", "≤"), ("maxLength", "length ≤"))
        if key in schema
    ]
    return " ".join([kind, *limits])


# --- commands --------------------------------------------------------------------------------------------------------
def _render_commands() -> Iterator[str]:
    """Renders the help of every command."""
    yield "# Commands\n"
    yield "For developers and operators: look up a command of `penstock` and its options.\n"
    yield "[Command line](command_line.md) explains which service a command calls and how it signs in.\n"
    program: Any = typer.main.get_command(application())
    sections: dict[str, list[str]] = defaultdict(list)
    for name, command in program.commands.items():
        sections[command.rich_help_panel or "Other"].extend(_render_command(f"penstock {name}", command))
    for title, lines in sections.items():
        yield f"## {title}\n"
        yield from lines


def _render_command(name: str, command: Any) -> Iterator[str]:
    yield f"### {name}\n"
    yield f"{_join(command.help or '')}\n"
    rows = [
        (" ".join(f"`{option}`" for option in parameter.opts), _join(getattr(parameter, "help", None) or ""))
        for parameter in command.params
        if parameter.name != "help"
    ]
    yield from _render_table(("argument or option", "meaning"), rows)
    for inner, child in getattr(command, "commands", {}).items():
        yield from _render_command(f"{name} {inner}", child)


# --- functions of SQL ------------------------------------------------------------------------------------------------
def _render_functions(folder: Path) -> Iterator[str]:
    """Renders the headers and signatures of the functions in sql/functions/api."""
    yield "# Functions of the SQL interface\n"
    yield "For developers: look up a function that an application calls in its own transaction.\n"
    yield "[The SQL interface](sql.md) explains roles, errors and transactions.\n"
    for file in sorted(folder.glob("*.sql")):
        text = file.read_text()
        comment = [line.removeprefix("--").strip() for line in text.splitlines() if line.startswith("--")]
        signature = text.partition("create or replace function ")[2].partition("\nlanguage")[0]
        description = " ".join(comment).partition(": ")[2].replace(" SQL interface.", "")
        if not description:
            raise ValueError(f"{file.name} has no description after its name")
        description = description[0].upper() + description[1:]
        yield f"## {file.stem}\n\n{description}\n\n```sql\n{signature}\n```\n"


def _render_table(head: tuple[str, ...], rows: Sequence[tuple[str, ...]]) -> Iterator[str]:
    if rows:
        yield "\n".join(
            f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in row)} |"
            for row in (head, ("---",) * len(head), *rows)
        )
        yield ""


def _join(text: str) -> str:
    return " ".join(text.split())
