"""Generates the schema of the settings in the chart's values.schema.json, and the settings' defaults."""

import json
from collections.abc import Iterable, Mapping
from typing import Any

from penstock.settings import Setting

_PLACEHOLDER = "generated: "
_LONGEST = 120
_DEFAULTS = """\
{{{{- /* The defaults of the settings that are not secret. Written by `make generate`. */}}}}
{{{{- define "penstock.settingDefaults" -}}}}
{lines}
{{{{- end }}}}
"""


def render_schema(text: str, settings: Iterable[Setting[Any]]) -> str:
    """Returns values.schema.json with new schemas of `settings` and `secretSettings`, each on one line."""
    schema = json.loads(text)
    schemas: dict[str, str] = {}
    for key, members in _split(settings).items():
        properties = {name: f"{_PLACEHOLDER}{name}" for name in members}
        schemas |= {name: json.dumps(member) for name, member in members.items()}
        schema["properties"][key] = {"type": "object", "additionalProperties": False, "properties": properties}
    written = _format(schema)
    for name, line in schemas.items():
        written = written.replace(f'"{_PLACEHOLDER}{name}"', line)
    return f"{written}\n"


def _format(value: object, indent: str = "") -> str:
    """Returns JSON with each object and array on one line if it fits, or else with a line for each member."""
    line = json.dumps(value, ensure_ascii=False)
    if len(indent) + len(line) <= _LONGEST or not isinstance(value, dict | list):
        return line
    inner = f"{indent}  "
    if isinstance(value, dict):
        members = [f"{json.dumps(name)}: {_format(member, inner)}" for name, member in value.items()]
    else:
        members = [_format(member, inner) for member in value]
    start, end = "{}" if isinstance(value, dict) else "[]"
    separator = f",\n{inner}"
    return f"{start}\n{inner}{separator.join(members)}\n{indent}{end}"


def render_defaults(settings: Iterable[Setting[Any]]) -> str:
    """Returns the text of templates/_setting_defaults.tpl."""
    defaults = {setting.name: setting.write() for setting in settings if not setting.secret}
    return _DEFAULTS.format(lines=json.dumps(defaults, indent=0))


def _split(settings: Iterable[Setting[Any]]) -> Mapping[str, dict[str, dict[str, Any]]]:
    found: dict[str, dict[str, dict[str, Any]]] = {"settings": {}, "secretSettings": {}}
    for setting in settings:
        if setting.secret:
            found["secretSettings"][setting.name] = {"$ref": "#/definitions/secretSetting"}
        else:
            found["settings"][setting.name] = _render_type(setting)
    return found


def _render_type(setting: Setting[Any]) -> dict[str, Any]:
    pattern = setting.format.pattern if setting.format else ""
    found = {
        "type": setting.kind,
        "minimum": setting.minimum,
        "maximum": setting.maximum,
        "enum": ["", *setting.choices] if setting.choices else None,
        "pattern": f"^(?:{pattern})?$" if pattern else None,
    }
    return {name: value for name, value in found.items() if value is not None}
