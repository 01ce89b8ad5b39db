"""Tests the options that select messages (docs/reference/command_line.md)."""

from types import SimpleNamespace

import msgspec
import pytest
import typer

from penstock.management.messages.types import FoundMessage, FoundPage
from penstock_web.cli import main
from penstock_web.cli.commands import dead_letters
from penstock_web.cli.filters import FilterCommand, encode_filter, prints_json, read_filter


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ({}, {}),
        ({"text": ["time out"]}, {"text": "time out"}),
        ({"json": ["order.id=42"]}, {"json": {"path": "order.id", "equals": 42}}),
        ({"json": ["order=4", ""]}, {"json": {"path": "order", "equals": 4}}),
        ({"json": ['order="4"']}, {"json": {"path": "order", "equals": "4"}}),
        ({"json": ["code=007"]}, {"json": {"path": "code", "equals": "007"}}),
        ({"json": ["paid=true"]}, {"json": {"path": "paid", "equals": True}}),
        ({"json": ["error=null"]}, {"json": {"path": "error", "equals": None}}),
        ({"json": ["query=a=b"]}, {"json": {"path": "query", "equals": "a=b"}}),
        ({"attribute": ["error=timed out"]}, {"attribute": {"name": "error", "equals": "timed out"}}),
        ({"attribute": ["error"]}, {"attribute": {"name": "error"}}),
        (
            {"filter_": ['{"newer_than_seconds": 60}'], "text": ["x"], "attribute": ["a=b"]},
            {"newer_than_seconds": 60, "text": "x", "attribute": {"name": "a", "equals": "b"}},
        ),
    ],
)
def test_all_options_make_one_filter(options: dict[str, list[str]], expected: object) -> None:
    given = {"filter_": None, "text": None, "json": None, "attribute": None, **options}
    assert msgspec.json.decode(encode_filter(read_filter(**given))) == expected


def test_numbers_keep_their_digits() -> None:
    conditions = read_filter(['{"min_receive_count": 3}'], None, ["price=1.10"], None)
    assert encode_filter(conditions) == '{"min_receive_count":3,"json":{"path":"price","equals":1.10}}'


@pytest.mark.parametrize(
    ("text", "option"),
    [("kind=total", " kind=total"), ("order.id=4 2", " 'order.id=4 2'"), ("a=b=$(c)", " 'a=b=$(c)'"),
     ("a=", None), ("=4", None), ("total", None), ("a == b", None), ("x y=4", None), ("https://a.test/?q=4", None)],
)  # fmt: skip
def test_a_search_hints_at_members_if_it_finds_nothing(
    text: str, option: str | None, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The hint is on standard error, so a program that reads the output meets no such line."""
    found: list[FoundMessage] = []
    client = SimpleNamespace(call_as=lambda *_, **__: FoundPage(found, None))
    monkeypatch.setattr(dead_letters, "RestClient", lambda _endpoint: client)
    assert main(["search", "orders", text]) == 0
    output = capsys.readouterr()
    assert output.out == ""
    assert [line.partition("--json")[2] for line in output.err.splitlines()] == ([] if option is None else [option])
    assert main(["search", "orders", text, "--json", "a=1"]) == 0
    found.append(
        FoundMessage(1, 0, "2030-01-01T00:00:00Z", msgspec.Raw(b"{}"), {}, "", state="visible", receive_count=0)
    )
    assert main(["search", "orders", text]) == 0
    assert capsys.readouterr().err == ""


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"text": ["a", "b"]}, "can be passed once"),
        ({"json": ["a=1", "", "b=2"]}, "can be passed once"),
        ({"attribute": ["a=1", "b=2"]}, "can be passed once"),
        ({"filter_": ["{}", "{}"]}, "can be passed once"),
        ({"filter_": ['{"text": "a"}'], "text": ["b"]}, "--filter contains 'text' too"),
        ({"json": ["=4"]}, "'=4' is not PATH=VALUE"),
        ({"json": ["order=[1]"]}, "'[1]' is not a text, a number, true, false or null"),
        ({"attribute": ["=timeout"]}, "'=timeout' is not NAME=VALUE"),
    ],
)
def test_contradicting_options_are_refused(options: dict[str, list[str]], said: str) -> None:
    """If the last option won, `redrive` would move messages that the user did not select."""
    given = {"filter_": None, "text": None, "json": None, "attribute": None, **options}
    with pytest.raises(typer.BadParameter) as refused:
        read_filter(**given)
    assert said in refused.value.message


@pytest.mark.parametrize(
    ("arguments", "name", "values"),
    [
        ("failed --json", "failed", [""]),
        ("--json failed", "failed", [""]),
        ("--json order=4 failed", "failed", ["order=4"]),
        ("failed --json=order=4 --json", "failed", ["order=4", ""]),
        ("failed --json --text a=b", "failed", [""]),
        ("--json -- failed", "failed", [""]),
        ("-- --json", "--json", None),
    ],
)
def test_json_alone_prints_json(arguments: str, name: str, values: list[str] | None) -> None:
    parsed = typer.Typer()
    found: list[object] = []

    @parsed.command(cls=FilterCommand)
    def command(queue: str, text: str | None = None, json: list[str] | None = None) -> None:
        found.extend((queue, json, prints_json(json, None)))

    typer.main.get_command(parsed).main(arguments.split(), standalone_mode=False)
    assert found == [name, values, "" in (values or [])]


@pytest.mark.parametrize(
    ("json", "output", "printed"),
    [(None, None, False), ([""], None, True), (["a=1"], None, False), (["a=1"], "json", True), (None, "json", True),
     (["a=1"], "table", False), ([""], "json", True)],
)  # fmt: skip
def test_the_output_does_not_depend_on_the_filter(json: list[str] | None, output: str | None, printed: bool) -> None:
    assert prints_json(json, output) is printed


def test_contradicting_outputs_are_refused() -> None:
    with pytest.raises(typer.BadParameter):
        prints_json([""], "table")
