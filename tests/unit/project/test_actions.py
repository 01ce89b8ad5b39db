"""Checks that ACTIONS, functions/, templates, documents and the access rules agree, and that functions contain no
logic.
"""

from __future__ import annotations

import ast
import re
from base64 import b64encode
from collections import defaultdict
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest
import yaml
from msgspec.structs import fields

from infra.generate.load_balancer import has_rule
from infra.generate.sam_template import name_resource
from penstock.access.authorization import RULES
from penstock.access.resources import ACCOUNT_USE, Use
from penstock.actions import ACTIONS, BY_ROUTE, MAPPING_ACTIONS, Action, load_operation
from penstock.lambda_runtime.handler import Handler
from penstock.lambda_runtime.scheduled import MAX_INVOCATION_SECONDS
from penstock.scheduler.uses import list_invoked_arns
from penstock.settings import Settings
from penstock.sqs.types import CancelMessageMoveTaskRequest
from penstock.sqs.uses import use_source_of_task
from tests.support.functions.server import FUNCTIONS, file_name, load_handler
from tests.support.local_lambda.template import CloudFormationLoader, Values, expand_for_each, read_balancer

# --- actions ---------------------------------------------------------------------------------------------------------
# Checks that ACTIONS, functions/, the templates and the documentation agree. Functions contain no logic.
TEMPLATE = FUNCTIONS.parent / "template.yaml"
FILES = sorted(FUNCTIONS.rglob("*.py"))
SCHEDULED = {"maintain", "measure", "move", "deliver", "fire_schedules", "deliver_events", "poll_mappings"}
OTHERS = {"gateway", "rest", *SCHEDULED}
# Requests of services without rules go to the function Gateway.
WITHOUT_RULES = {name_resource(action) for action in ACTIONS if not has_rule(action)}
# These functions need more rights than others.
ROLES = {
    "Gateway": "MappingRole",
    "Rest": "MappingRole",
    "Deliver": "InvokingRole",
    "DeliverEvents": "InvokingRole",
    "PollMappings": "InvokingRole",
}


class Loader(yaml.CSafeLoader):
    """Reads CloudFormation's short forms, such as !Ref, as {"Ref": …}."""


def _short_form(loader: Loader, suffix: str, node: yaml.Node) -> dict[str, Any]:
    match node:
        case yaml.ScalarNode():
            return {suffix: loader.construct_scalar(node)}
        case yaml.SequenceNode():
            return {suffix: loader.construct_sequence(node, deep=True)}
        case _:
            raise yaml.YAMLError(f"!{suffix} of a mapping")


Loader.add_multi_constructor("!", _short_form)


@pytest.fixture(scope="module")
def template() -> dict[str, Any]:
    # S506: it is a SafeLoader
    return cast("dict[str, Any]", yaml.load(TEMPLATE.read_text(), Loader))


@pytest.fixture(scope="module")
def functions(template: dict[str, Any]) -> dict[str, dict[str, Any]]:
    """Returns the properties of each function by its logical id."""
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


@pytest.mark.parametrize("action", ACTIONS, ids=lambda action: f"{action.service}.{action.name}")
def test_each_operation_is_there(action: Any) -> None:
    load_operation(action)
    assert action.operation.__name__ == file_name(action.name)


def test_one_function_for_each_action(functions: dict[str, dict[str, Any]]) -> None:
    expected = {
        f"{action.service.capitalize()}{action.name}": f"{action.service}.{file_name(action.name)}.handler"
        for action in ACTIONS
    }
    others = {name.title().replace("_", ""): f"{name}.handler" for name in OTHERS}
    assert {name: properties["Handler"] for name, properties in functions.items()} == expected | others


def test_names_are_those_that_the_load_balancer_means(functions: dict[str, dict[str, Any]]) -> None:
    """infra/alb/template.yaml and infra/alarms/template.yaml combine the stack's name and the logical id."""
    for name, properties in functions.items():
        assert properties["FunctionName"] == {"Sub": f"${{AWS::StackName}}-{name}"}
    rules, default = read_balancer(TEMPLATE.parent / "infra/alb/template.yaml")
    named = {default, *(rule.function for rule in rules)}
    scheduled = {name.title().replace("_", "") for name in SCHEDULED}
    assert named == functions.keys() - scheduled - WITHOUT_RULES


def test_scheduled_functions_are_invoked_and_tried_once(functions: dict[str, dict[str, Any]]) -> None:
    assert {
        name
        for name, properties in functions.items()
        if any(event["Type"] == "ScheduleV2" for event in properties.get("Events", {}).values())
    } == {name.title().replace("_", "") for name in SCHEDULED}
    for name in SCHEDULED:
        properties = functions[name.title().replace("_", "")]
        (event,) = properties["Events"].values()
        assert event["Properties"]["ScheduleExpression"] == "rate(1 minute)"
        # Two stacks in one account must not have the same names.
        assert event["Properties"]["OmitName"] is True
        assert event["Properties"]["RetryPolicy"] == {"MaximumRetryAttempts": 0}
        assert properties["EventInvokeConfig"]["MaximumRetryAttempts"] == 0
        assert properties["Timeout"] > MAX_INVOCATION_SECONDS
        # PollMappings waits for functions, so several of its invocations run at the same time.
        assert ("ReservedConcurrentExecutions" in properties) is (name != "poll_mappings")


def test_lambda_lets_metrics_through_at_every_log_level(template: dict[str, Any]) -> None:
    """Metrics have no level, so they count as INFO ("Log-level filtering", Lambda Developer Guide)."""
    levels = {name: each["Value"] for name, each in template["Mappings"]["ApplicationLogLevel"].items()}
    assert list(levels) == template["Parameters"]["LogLevel"]["AllowedValues"]
    assert levels["debug"] == "DEBUG"
    assert set(levels.values()) == {"DEBUG", "INFO"}
    logging = template["Globals"]["Function"]["LoggingConfig"]
    assert logging["ApplicationLogLevel"] == {"FindInMap": ["ApplicationLogLevel", {"Ref": "LogLevel"}, "Value"]}
    assert logging["LogFormat"] == "JSON"


def test_functions_that_poll_run_until_their_next_invocation(
    template: dict[str, Any], functions: dict[str, dict[str, Any]]
) -> None:
    """A schedule invokes these functions each minute, so two run at once. The timeout of these functions allows for the
    slowest endpoint (15 s).
    """
    parameters = template["Parameters"]
    seconds = Settings.queue_lambda_worker_seconds
    assert seconds.default > 60
    assert seconds.maximum is not None
    assert parameters["ScheduledConcurrency"]["Default"] == 2
    for name in ("Deliver", "DeliverEvents", "FireSchedules", "Move"):
        properties = functions[name]
        assert seconds.maximum + 15 < properties["Timeout"] < 2 * 60
        assert properties["ReservedConcurrentExecutions"]["If"][2] == {"Ref": "ScheduledConcurrency"}


def test_functions_that_answer_everything_know_their_concurrency(functions: dict[str, dict[str, Any]]) -> None:
    """The variable contains the reserved concurrency, or is empty without a reservation."""
    name = "QUEUE_LAMBDA_CONCURRENCY"
    known = {
        function: properties["Environment"]["Variables"][name]
        for function, properties in functions.items()
        if name in properties.get("Environment", {}).get("Variables", {})
    }
    assert known == {
        function: {"If": [f"{function}Shares", "", {"Ref": f"{function}Concurrency"}]}
        for function in ("Gateway", "Rest")
    }
    for function in known:
        reserved = functions[function]["ReservedConcurrentExecutions"]["If"]
        assert (reserved[0], reserved[2]) == (f"{function}Shares", {"Ref": f"{function}Concurrency"})


@pytest.mark.parametrize("mappings", [None, "off", "on"])
@pytest.mark.parametrize("sns", [None, "off", "on"])
def test_alarms_watch_every_function(
    template: dict[str, Any], functions: dict[str, dict[str, Any]], mappings: str | None, sns: str | None
) -> None:
    """The alarm expects no invocations of a function that no schedule invokes. Both templates have the same
    defaults. SDKs call SNS in the Query protocol (botocore's model of SNS), whose requests only Gateway serves."""
    given = {} if mappings is None else {"EventSourceMappings": mappings}
    watched = read_alarms(given if sns is None else {**given, "SnsActions": sns})
    scheduled = {name.title().replace("_", "") for name in SCHEDULED}
    read = yaml.load(TEMPLATE.read_text(), CloudFormationLoader)
    values = Values(read, given)
    for name, properties in functions.items():
        if name in WITHOUT_RULES or (name.startswith("Sns") and sns != "on"):
            continue
        timeout = properties.get("Timeout", template["Globals"]["Function"]["Timeout"])
        events = values.resolve(read["Resources"][name]["Properties"].get("Events", {}))
        is_invoked = any(each["Properties"].get("State") != "DISABLED" for each in events.values())
        expected = {"Errors": 1, "Duration": timeout * 900}
        if name not in scheduled:
            expected["Throttles"] = 1
        elif is_invoked:
            expected["Invocations"] = 1
        assert watched.pop(name) == expected, name
    assert not watched


def read_alarms(parameters: dict[str, str]) -> dict[str, dict[str, float]]:
    """Returns the thresholds of the stack's alarms by function and metric."""
    read = yaml.load((TEMPLATE.parent / "infra/alarms/template.yaml").read_text(), CloudFormationLoader)
    values = Values(read, parameters)
    watched: dict[str, dict[str, float]] = defaultdict(dict)
    for alarm in expand_for_each(read["Resources"]).values():
        if "Condition" in alarm and not values.resolve({"Fn::If": [alarm["Condition"], True, False]}):
            continue
        properties = values.resolve(alarm["Properties"])
        ((dimension),) = properties["Dimensions"]
        name = dimension["Value"].removeprefix("penstock-")
        watched[name][properties["MetricName"]] = float(properties["Threshold"])
    return watched


def test_the_pages_count_the_alarms() -> None:
    without, with_mappings, with_sns = (
        sum(map(len, read_alarms(given).values()))
        for given in ({}, {"EventSourceMappings": "on"}, {"SnsActions": "on"})
    )
    docs = TEMPLATE.parent / "docs"
    page = (docs / "operate" / "lambda_watch.md").read_text()
    assert with_mappings == without + 1
    assert f"There are {without} alarms by default" in page
    assert f"adds {with_sns - without} alarms" in page
    assert f"| {without} alarms |" in (docs / "operate" / "costs.md").read_text()


def test_names_of_functions_have_room_for_that_of_their_stack(functions: dict[str, dict[str, Any]]) -> None:
    """The name of a function has at most 64 characters ("CreateFunction", AWS Lambda API Reference)."""
    longest = 64 - len("-") - max(map(len, functions))
    root = TEMPLATE.parent
    (name,) = re.findall(r'^stack_name = "(\S+)"$', (root / "samconfig.toml").read_text(), re.MULTILINE)
    for file in ("infra/alb/template.yaml", "infra/alarms/template.yaml"):
        parameter = yaml.load((root / file).read_text(), Loader)["Parameters"]["Functions"]
        assert (parameter["Default"], parameter["MaxLength"]) == (name, longest)
    assert f"at most {longest} characters" in (root / "docs/operate/lambda.md").read_text()


def test_every_bound_of_concurrency_is_in_the_sum_of_connections(template: dict[str, Any]) -> None:
    page = (TEMPLATE.parent / "docs/operate/lambda_limits.md").read_text()
    formula = page.partition("\n## Concurrency\n")[2].partition("```text\n")[2].partition("```")[0]
    bounds = {name for name in template["Parameters"] if name.endswith("Concurrency")}
    assert set(re.findall(r"\w+Concurrency", formula)) == bounds
    assert f"{len(SCHEDULED) - 1} x ScheduledConcurrency" in formula  # PollMappings has no reservation


def test_the_page_lists_the_functions_that_are_not_of_an_action(functions: dict[str, dict[str, Any]]) -> None:
    page = (TEMPLATE.parent / "docs/operate/lambda.md").read_text()
    rows = re.findall(r"^\| `(\w+)` \| `functions/(\w+)\.py`", page, re.MULTILINE)
    assert dict(rows) == {name.title().replace("_", ""): name for name in OTHERS}


LAYERS = {"Rest": ("WebLayer", "ExpressionsLayer")} | dict.fromkeys(
    ("Gateway", "DeliverEvents", "EventsCreateSubscriber", "EventsUpdateSubscriber"), ("ExpressionsLayer",)
)


def test_functions_share_code_layer_and_role(template: dict[str, Any], functions: dict[str, dict[str, Any]]) -> None:
    shared = template["Globals"]["Function"]
    assert (shared["CodeUri"], shared["Runtime"]) == ("functions/", {"Ref": "Runtime"})
    assert template["Parameters"]["Runtime"]["Default"] == "python3.12"
    tracing = {"If": ["Untraced", {"Ref": "AWS::NoValue"}, {"Ref": "TracingLayer"}]}
    assert shared["Layers"] == [{"Ref": "CoreLayer"}, tracing]
    for name, properties in functions.items():
        assert properties["Role"] == {"GetAtt": f"{ROLES.get(name, 'FunctionRole')}.Arn"}
        assert not {"CodeUri", "InlineCode", "Policies"} & properties.keys()
        assert properties.get("Layers", []) == [{"Ref": layer} for layer in LAYERS.get(name, ())]


def test_only_functions_that_call_lambda_may(template: dict[str, Any]) -> None:
    """`Deliver`, `DeliverEvents`, `PollMappings` and the schedules invoke functions. `Gateway` and `Rest` read a
    function's timeout when they create a mapping.
    """
    allowed = {
        name: set(re.findall(r"lambda:(?!SourceFunctionArn)\w+", repr(resource)))
        for name, resource in template["Resources"].items()
        if resource["Type"].startswith("AWS::IAM::")
    }
    assert allowed == {
        "FunctionPolicy": set(),
        "FunctionRole": set(),
        "MappingRole": {"lambda:GetFunctionConfiguration"},
        "InvokingRole": {"lambda:InvokeFunction"},
        "ScheduleRole": {"lambda:InvokeFunction"},
    }
    for role in ("FunctionRole", "MappingRole", "InvokingRole"):
        assert template["Resources"][role]["Properties"]["ManagedPolicyArns"] == [{"Ref": "FunctionPolicy"}]


def test_the_security_groups_must_let_through_what_functions_call(template: dict[str, Any]) -> None:
    """Every function reads the secret, and some functions call Lambda and webhook endpoints."""
    text = template["Parameters"]["SecurityGroups"]["Description"]
    assert all(each in text for each in ("PgBouncer", "443", "Secrets Manager", "Lambda", "webhooks"))
    assert "nothing else" not in text


def test_the_console_is_a_parameter(template: dict[str, Any]) -> None:
    """`sam local` sets only variables in the template."""
    variables = template["Globals"]["Function"]["Environment"]["Variables"]
    assert variables["QUEUE_CONSOLE"] == {"Ref": "Console"}
    assert set(template["Parameters"]["Console"]["AllowedValues"]) == {"", *Settings.queue_console.choices}


def test_routes_lead_to_the_gateway_the_rest_api_or_the_action(functions: dict[str, dict[str, Any]]) -> None:
    routes = {
        (event["Properties"].get("Method"), event["Properties"].get("Path"), name)
        for name, properties in functions.items()
        for event in properties.get("Events", {}).values()
        if event["Type"] == "HttpApi"
    }
    rest = ("/v1", "/v1/{path+}", "/console", "/console/{path+}")
    others = {
        (None, None, "Gateway"),
        ("POST", "/service/{path+}", "Gateway"),
        *(("ANY", path, "Rest") for path in rest),
    }
    assert routes == others | {route(action) for action in BY_ROUTE.values() if action not in MAPPING_ACTIONS}


def route(action: Any) -> tuple[str, str, str]:
    """Returns the method, the path and the function of a REST-JSON action. The path parameter for an ARN matches
    slashes, because an ARN contains a slash."""
    method, path = action.route.split()
    path = path.replace("{Name}", "{name}").replace("{ResourceArn}", "{arn+}")
    return method, path, f"{action.service.capitalize()}{action.name}"


def test_each_line_of_the_policies_says_why() -> None:
    lines = [
        line
        for line in TEMPLATE.read_text().splitlines()
        if line.lstrip().startswith(("- logs:", "- ec2:", "- xray:", "Action: lambda:"))
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
    # A function contains no SQL: its only texts are the names of a service and an action.
    texts = [node.value for node in ast.walk(handler) if isinstance(node, ast.Constant)]
    assert texts in ([], *([action.service, action.name] for action in ACTIONS))


# --- access ----------------------------------------------------------------------------------------------------------
# Checks that the access rules include every action.
REGION, ACCOUNT = "us-east-1", "111122223333"
QUEUE, TOPIC = f"arn:aws:sqs:{REGION}:{ACCOUNT}:q", f"arn:aws:sns:{REGION}:{ACCOUNT}:t"
ENDPOINT = f"arn:aws:sns:{REGION}:{ACCOUNT}:endpoint/GCM/a/12345678-abcd-9012-abcd-345678901234"
TASK = b64encode(f'{{"taskId":"x","sourceArn":"{QUEUE}"}}'.encode()).decode()
# Maps the members that identify an existing resource to their values in these tests.
MEMBERS = {
    "queue_url": "http://localhost/111122223333/q",
    "queue_owner_aws_account_id": ACCOUNT,
    "source_arn": QUEUE,
    "task_handle": TASK,
    "topic_arn": TOPIC,
    "resource_arn": TOPIC,
    "subscription_arn": f"{TOPIC}:12345678-abcd-9012-abcd-345678901234",
    "platform_application_arn": f"arn:aws:sns:{REGION}:{ACCOUNT}:app/GCM/a",
    "endpoint_arn": ENDPOINT,
    "event_bus_arn": f"arn:aws:events:{REGION}:{ACCOUNT}:event-busv2/b/{'0' * 25}",
    "subscriber_arn": f"arn:aws:events:{REGION}:{ACCOUNT}:subscriber/s/{'0' * 25}",
    "event_source_arn": f"arn:aws:events:{REGION}:{ACCOUNT}:event-sourcev2/webhook/s/{'0' * 25}",
}
TO_NUMBERS = Use("*", is_owned=False, action=("penstock", "PublishToPhoneNumber"))
# The further resources of an action, such as a subscriber whose id does not exist yet.
MORE_USES = {
    "CreateSMSSandboxPhoneNumber": [TO_NUMBERS],
    "CreateSubscriber": [Use(f"arn:aws:events:{REGION}:{ACCOUNT}:subscriber/q/*", is_owned=False)],
    "CreateEventSource": [Use(f"arn:aws:events:{REGION}:{ACCOUNT}:event-sourcev2/q/*", is_owned=False)],
}
CONTEXT: Any = SimpleNamespace(region=REGION, account_id=ACCOUNT, queue_arn=lambda _: QUEUE)
# The resources of EventBridge Scheduler belong to the caller, except for the targets that they invoke.
WITH_POLICIES = [action for action in ACTIONS if action.service in RULES]


def list_uses(action: Action[Any, Any], **members: str) -> list[Use]:
    """Returns the resources that a request uses. Members that are names have the value q, and all other members are
    None."""
    known: dict[str, str | None] = {field.name: None for field in fields(action.request)}
    names = {name: "q" for name in known if name in ("name", "queue_name", "platform")}
    given = {name: text for name, text in members.items() if name in known}
    return list(action.resources(SimpleNamespace(**known | names | given | {"entries": []}), CONTEXT))


@pytest.mark.parametrize("action", WITH_POLICIES, ids=lambda action: action.name)
def test_every_action_is_about_the_account_or_names_something(action: Action[Any, Any]) -> None:
    """The owner and the policy of the named resource decide about the request."""
    named = {field.name for field in fields(action.request)} & MEMBERS.keys()
    members = {**MEMBERS, "resource_arn": MEMBERS["event_bus_arn"]} if action.service == "events" else MEMBERS
    use, *others = list_uses(action, **members)
    assert others == MORE_USES.get(action.name, [])
    assert use.action is None
    assert use.is_owned is bool(named)
    if named:
        arns = {QUEUE, *(members[name] for name in named if name.endswith("_arn"))}
        assert use.arn in arns


@pytest.mark.parametrize("action", WITH_POLICIES, ids=lambda action: action.name)
def test_the_policies_of_the_user_decide_about_a_text_that_is_no_arn(action: Action[Any, Any]) -> None:
    texts = dict.fromkeys((name for name in MEMBERS if name.endswith(("_arn", "handle", "_id"))), "no ARN")
    uses = list_uses(action, **texts)
    assert uses
    assert uses == [ACCOUNT_USE] or uses == list_uses(action)


def test_the_destination_of_an_action_is_checked() -> None:
    with_destination = {
        action.name: action
        for action in ACTIONS
        if "destination_arn" in {field.name for field in fields(action.request)}
    }
    assert with_destination.keys() == {"StartMessageMoveTask"}
    destination = QUEUE.replace(":q", ":other")
    uses = list_uses(with_destination["StartMessageMoveTask"], source_arn=QUEUE, destination_arn=destination)
    assert uses == [Use(QUEUE), Use(destination, action=("sqs", "SendMessage"))]


def test_the_target_of_a_publish_is_checked() -> None:
    """The target of a message is a topic, an endpoint of a mobile app, or any phone number."""
    (publish,) = (action for action in ACTIONS if action.name == "Publish")
    assert list_uses(publish, topic_arn=TOPIC) == list_uses(publish, target_arn=TOPIC) == [Use(TOPIC)]
    assert list_uses(publish, target_arn=ENDPOINT) == [Use(ENDPOINT)]
    assert list_uses(publish, phone_number="+1") == [ACCOUNT_USE, TO_NUMBERS]
    (subscribe,) = (action for action in ACTIONS if action.name == "Subscribe")
    assert list_uses(subscribe, topic_arn=TOPIC, protocol="sms") == [Use(TOPIC), TO_NUMBERS]
    assert list_uses(subscribe, topic_arn=TOPIC, protocol="sqs") == [Use(TOPIC)]


@pytest.mark.parametrize("service", RULES)
def test_rules_name_actions(service: str) -> None:
    rules = RULES[service]
    named = rules.grantable_actions | rules.receiver_actions | rules.owner_always_allowed
    assert {action.name for action in ACTIONS if action.service == service} >= named


def test_the_target_of_a_schedule_is_checked() -> None:
    """The test covers every action of EventBridge Scheduler that has a target. These actions never name resources of
    another account.
    """
    scheduler = [action for action in ACTIONS if action.service == "scheduler"]
    with_target = [a for a in scheduler if "target" in {field.name for field in fields(a.request)}]
    assert {action.name for action in with_target} == {"CreateSchedule", "UpdateSchedule"}
    dead = SimpleNamespace(arn=QUEUE)
    target: Any = SimpleNamespace(
        arn=TOPIC, input=None, dead_letter_config=dead, event_bridge_put_raw_events_parameters=None
    )
    context: Any = CONTEXT
    assert list_invoked_arns(target, context) == [TOPIC, QUEUE]
    for action in with_target:
        schedule, *invoked = list_uses(action, target=target)
        assert schedule == Use(f"arn:aws:scheduler:{REGION}:{ACCOUNT}:schedule/default/q", is_owned=False)
        assert [(use.arn, use.action) for use in invoked] == [
            (TOPIC, ("sns", "Publish")),
            (QUEUE, ("sqs", "SendMessage")),
        ]


def test_a_task_handle_names_its_queue() -> None:
    context: Any = CONTEXT
    handle, none = CancelMessageMoveTaskRequest(TASK), CancelMessageMoveTaskRequest("no handle")
    assert list(use_source_of_task(handle, context)) == [Use(QUEUE)]
    assert list(use_source_of_task(none, context)) == [ACCOUNT_USE]
