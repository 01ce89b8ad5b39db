"""ACTIONS, functions/ and template.yaml say the same; functions hold no logic."""

from __future__ import annotations

import ast
from pathlib import Path
from typing import Any, cast

import pytest
import yaml

from penstock.actions import ACTIONS, BY_ROUTE
from penstock.lambda_handler import Handler
from tests.lambda_door import FUNCTIONS, file_name, load_handler

TEMPLATE = FUNCTIONS.parent / "template.yaml"
FILES = sorted(FUNCTIONS.rglob("*.py"))
OTHERS = {"gateway", "rest", "maintain", "move", "deliver_webhooks", "fire_schedules"}


class Loader(yaml.SafeLoader):
    """Reads CloudFormation's short forms, such as !Ref, as {"Ref": …}."""


def _short_form(loader: Loader, suffix: str, node: yaml.Node) -> dict[str, Any]:
    match node:
        case yaml.ScalarNode():
            return {suffix: loader.construct_scalar(node)}
        case yaml.SequenceNode():
            return {suffix: loader.construct_sequence(node)}
        case _:
            raise yaml.YAMLError(f"!{suffix} of a mapping")


Loader.add_multi_constructor("!", _short_form)


@pytest.fixture(scope="module")
def template() -> dict[str, Any]:
    # S506: it is a SafeLoader
    return cast("dict[str, Any]", yaml.load(TEMPLATE.read_text(), Loader))


@pytest.fixture(scope="module")
def functions(template: dict[str, Any]) -> dict[str, dict[str, Any]]:
    """Properties of each function, by logical id."""
    return {
        name: resource["Properties"]
        for name, resource in template["Resources"].items()
        if resource["Type"] == "AWS::Serverless::Function"
    }


def modules(files: list[Path]) -> set[str]:
    return {str(file.relative_to(FUNCTIONS).with_suffix("")) for file in files}


def test_one_file_for_each_action() -> None:
    expected = {f"{action.service}/{file_name(action.name)}" for action in ACTIONS}
    assert modules(FILES) == expected | OTHERS


@pytest.mark.parametrize("action", ACTIONS, ids=lambda action: f"{action.service}.{action.name}")
def test_each_file_handles_its_action(action: Any) -> None:
    handler = load_handler(f"{action.service}/{file_name(action.name)}", {})
    assert isinstance(handler, Handler)
    assert (handler.service, handler.action) == (action.service, action.name)


def test_one_function_for_each_action(functions: dict[str, dict[str, Any]]) -> None:
    expected = {
        f"{action.service.capitalize()}{action.name}": f"{action.service}.{file_name(action.name)}.handler"
        for action in ACTIONS
    }
    others = {name.title().replace("_", ""): f"{name}.handler" for name in OTHERS}
    assert {name: properties["Handler"] for name, properties in functions.items()} == expected | others


def test_functions_share_code_layer_and_role(
    template: dict[str, Any], functions: dict[str, dict[str, Any]]
) -> None:
    shared = template["Globals"]["Function"]
    assert (shared["CodeUri"], shared["Runtime"]) == ("functions/", {"Ref": "Runtime"})
    assert template["Parameters"]["Runtime"]["Default"] == "python3.12"
    assert shared["Layers"] == [{"Ref": "CoreLayer"}]
    for name, properties in functions.items():
        assert properties["Role"] == {"GetAtt": "FunctionRole.Arn"}
        assert not {"CodeUri", "InlineCode", "Policies"} & properties.keys()
        assert properties.get("Layers", []) == ([{"Ref": "WebLayer"}] if name == "Rest" else [])


def test_routes_lead_to_the_gateway_the_rest_api_or_the_action(functions: dict[str, dict[str, Any]]) -> None:
    routes = {
        (event["Properties"]["Method"], event["Properties"]["Path"], name)
        for name, properties in functions.items()
        for event in properties.get("Events", {}).values()
        if event["Type"] == "HttpApi"
    }
    paths = ("/", "/{account}/{queue}")
    expected = {(method, path, "Gateway") for method in ("POST", "GET") for path in paths}
    others = {("GET", "/{certificate}", "Gateway"), ("ANY", "/v1/{path+}", "Rest")}
    assert routes == expected | others | set(map(route, BY_ROUTE.values()))


def route(action: Any) -> tuple[str, str, str]:
    """Method and path of an action of REST-JSON, and its own function. An ARN has a slash in it."""
    method, path = action.route.split()
    path = path.replace("{Name}", "{name}").replace("{ResourceArn}", "{arn+}")
    return method, path, f"{action.service.capitalize()}{action.name}"


def test_each_line_of_the_policies_says_why() -> None:
    lines = [
        line for line in TEMPLATE.read_text().splitlines() if line.lstrip().startswith(("- logs:", "- ec2:"))
    ]
    allowed = [line for line in lines if "#" in line]
    granted = {line.split()[1] for line in lines}
    assert {line.split()[1] for line in allowed} == granted


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_functions_hold_no_logic(file: Path) -> None:
    text = file.read_text()
    tree = ast.parse(text)
    assert len([line for line in text.splitlines() if line.strip()]) <= 10
    assert "\n" not in (ast.get_docstring(tree) or "\n")
    documentation, *imports, handler = tree.body
    assert isinstance(documentation, ast.Expr)
    assert {type(statement) for statement in imports} == {ast.ImportFrom}
    assert isinstance(handler, ast.Assign)
    # No SQL: the only texts are the names of a service and an action.
    texts = [node.value for node in ast.walk(handler) if isinstance(node, ast.Constant)]
    assert texts in ([], *([action.service, action.name] for action in ACTIONS))
