"""Defines the options with which `peek`, `search`, `failures`, `redrive` and `edit` select messages."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from shlex import quote
from typing import TYPE_CHECKING, Annotated, Any, Final

import typer
from typer.core import TyperCommand

from .client import build_queue_path
from .values import accept_only, json_object

if TYPE_CHECKING:
    from penstock.management.messages.types import FoundMessage

    from .client import RestClient

_MEMBER: Final = re.compile(r"[A-Za-z_][\w-]*(\.[\w-]+)*=[^\s=].*", re.DOTALL)
"""PATH=VALUE of --json, such as `order.id=42`."""

FilterText = Annotated[
    list[str] | None,
    typer.Option(
        "--filter",
        metavar="JSON",
        help='select messages that meet all conditions, such as \'{"text": "timeout", "newer_than_seconds": 3600}\'',
    ),
]
BodyText = Annotated[
    list[str] | None, typer.Option("--text", metavar="TEXT", help="select messages whose body contains this text")
]
AttributeValue = Annotated[
    list[str] | None,
    typer.Option(
        "--attribute", metavar="NAME=VALUE", help="select messages with this attribute; NAME alone matches every value"
    ),
]
JsonOrValue = Annotated[
    list[str] | None,
    typer.Option(
        "--json",
        metavar="[PATH=VALUE]",
        help="select messages whose JSON body has this value, such as order.id=42; without PATH=VALUE, print JSON, as "
        "--output json",
    ),
]
Output = Annotated[
    str | None,
    typer.Option("--output", metavar="FORMAT", parser=accept_only("table", "json"), help="print a table, or json"),
]


class FilterCommand(TyperCommand):
    """A command with the option `JsonOrValue`. --json selects messages if a PATH=VALUE follows. The name of a queue,
    which can also follow, contains no `=`.
    """

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Adds an empty value to each --json without a value."""
        return super().parse_args(ctx, [*_complete_json(args)])


def prints_json(json: Sequence[str] | None, output: str | None) -> bool:
    """Returns whether the command prints JSON: with --output json, or --json without a value. Raises BadParameter if
    the options contradict each other."""
    if output == "table" and "" in (json or ()):
        raise typer.BadParameter("--json without PATH=VALUE prints JSON", param_hint="--output")
    return output == "json" or "" in (json or ())


def read_filter(
    filter_: Sequence[str] | None,
    text: Sequence[str] | None,
    json: Sequence[str] | None,
    attribute: Sequence[str] | None,
) -> dict[str, object]:
    """Returns the filter that all options together describe, or {}, which every message matches. Raises BadParameter
    for an invalid value. A filter has one text, one value and one attribute, so a second one raises BadParameter
    instead of replacing the first.
    """
    found: dict[str, object] = _members(_only(filter_, "--filter"))
    values = [value for value in json or () if value]
    for name, given in {"text": text, "json": values, "attribute": attribute}.items():
        option = f"--{name}"
        value = _only(given, option)
        if value is None:
            continue
        if name in found:
            raise typer.BadParameter(f"--filter contains {name!r} too", param_hint=option)
        found[name] = _CONDITIONS[name](value)
    return found


def encode_filter(conditions: dict[str, object]) -> str:
    """Returns a filter as JSON."""
    import msgspec

    return msgspec.json.encode(conditions).decode()


def find_messages(
    client: RestClient, name: str, conditions: dict[str, object], limit: int
) -> Iterator[list[FoundMessage]]:
    """Yields pages of messages that match a filter, at most `limit` messages."""
    from penstock.management.messages.types import FoundPage

    body: dict[str, object] = {"filter": conditions}
    while limit > 0:
        page = client.call_as(FoundPage, "POST", build_queue_path(name, "/messages/search"), {**body, "limit": limit})
        yield page.messages
        limit -= len(page.messages)
        if page.next is None:
            return
        body["after"] = page.next


def hint_at_json(conditions: dict[str, object]) -> str | None:
    """Returns how to search for a member of JSON bodies, for a text such as `order.id=42` that found nothing, or None.
    JSON contains no `=` between a member and its value, so the text matches no such body.
    """
    text = conditions.get("text")
    if not isinstance(text, str) or "json" in conditions or not _MEMBER.fullmatch(text):
        return None
    return f"no message matches. {text!r} is searched as text. For a member of JSON bodies, write --json {quote(text)}"


def _complete_json(arguments: Sequence[str]) -> Iterator[str]:
    for place, argument in enumerate(arguments):
        yield argument
        if argument == "--":
            yield from arguments[place + 1 :]
            return
        following = "".join(arguments[place + 1 : place + 2])
        if argument == "--json" and (following.startswith("-") or "=" not in following):
            yield ""


def _only(values: Sequence[str] | None, option: str) -> str | None:
    if values and len(values) > 1:
        raise typer.BadParameter("can be passed once", param_hint=option)
    return values[0] if values else None


def _members(text: str | None) -> dict[str, object]:
    """Returns the members of --filter. The members keep their text, so that no number changes."""
    import msgspec

    if text is None:
        return {}
    json_object(text, "--filter")
    return dict(msgspec.json.decode(text, type=dict[str, msgspec.Raw]))


def _json_condition(text: str) -> object:
    """Returns the condition of `order.id=42`. A value that is not JSON is a text."""
    import msgspec

    path, equals, value = text.partition("=")
    if not path or not equals:
        raise typer.BadParameter(f"{text!r} is not PATH=VALUE", param_hint="--json")
    try:
        decoded = msgspec.json.decode(value)
    except msgspec.DecodeError:
        return {"path": path, "equals": value}
    if isinstance(decoded, (dict, list)):
        raise typer.BadParameter(
            f"{value!r} is not a text, a number, true, false or null. Quotes make a text", param_hint="--json"
        )
    return {"path": path, "equals": msgspec.Raw(value.encode())}


def _attribute_condition(text: str) -> object:
    name, equals, value = text.partition("=")
    if not name:
        raise typer.BadParameter(f"{text!r} is not NAME=VALUE", param_hint="--attribute")
    return {"name": name, "equals": value} if equals else {"name": name}


_CONDITIONS: Final[dict[str, Callable[[str], object]]] = {
    "text": str,
    "json": _json_condition,
    "attribute": _attribute_condition,
}
"""Maps an option without its dashes, which is also the name of the filter's member, to the parser of its value."""
