"""Generates the functions of template.yaml, with a function for each action, and with routes for EventBridge
Scheduler."""

from collections.abc import Iterable
from typing import Any

from penstock.actions import Action

from .entry_points import name_module

FUNCTION = """\
  {name}:
    Type: AWS::Serverless::Function
    Properties:
      Handler: {service}.{module}.handler
      FunctionName: !Sub "${{AWS::StackName}}-{name}"
      Role: !GetAtt FunctionRole.Arn
"""
# Only the function that waits for messages needs a separate limit ("Concurrency" in docs/operate/lambda_limits.md).
CONCURRENCY = {
    "SqsReceiveMessage": """\
      ReservedConcurrentExecutions: !If [ReceivesShare, !Ref AWS::NoValue, !Ref ReceiveConcurrency]
"""
}
# The functions that check the syntax of expressions. Gateway, Rest and DeliverEvents have the layer, too.
LAYER = "      Layers: [!Ref ExpressionsLayer]\n"
CHECKS_EXPRESSIONS = frozenset(("EventsCreateSubscriber", "EventsUpdateSubscriber"))
ROUTE = """\
      Events:
        Route:
          Type: HttpApi
          Properties: {{ApiId: !Ref Api, Method: {method}, Path: "{path}"}}
"""
# The variables of routes in API Gateway's format. An ARN contains slashes, so an ARN's variable matches the rest of the
# path.
VARIABLES = {"{Name}": "{name}", "{ResourceArn}": "{arn+}"}


def name_resource(action: Action[Any, Any]) -> str:
    """Returns the function's name in template.yaml and in the names of alarms and rules, such as SqsSendMessage."""
    return f"{action.service.capitalize()}{action.name}"


def render_functions(actions: Iterable[Action[Any, Any]]) -> list[str]:
    """Returns the lines of all functions, with an empty line between two functions."""
    return "\n".join(map(_render_function, actions)).splitlines()


def _render_function(action: Action[Any, Any]) -> str:
    name = name_resource(action)
    text = FUNCTION.format(name=name, service=action.service, module=name_module(action.name))
    text += CONCURRENCY.get(name, "")
    text += LAYER if name in CHECKS_EXPRESSIONS else ""
    if not action.route:
        return text
    method, path = action.route.split()
    for variable, name in VARIABLES.items():
        path = path.replace(variable, name)
    return text + ROUTE.format(method=method, path=path)
