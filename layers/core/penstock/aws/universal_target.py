"""Reads universal targets of EventBridge Scheduler and event buses. Such a target is an action of an API, and its input
is the request of this action as a JSON object with the names of the API.

AWS calls almost every action that changes something. Penstock calls those whose services it has. The message, the
payload and the resource are those of the request, so a universal target leads to the same code as a queue, topic or
function that is named by its ARN. Sources: "Using universal targets in EventBridge Scheduler" (EventBridge Scheduler
User Guide, https://docs.aws.amazon.com/scheduler/latest/UserGuide/managing-targets-universal.html), "Universal targets
for a Custom Event Bus" (EventBridge User Guide,
https://docs.aws.amazon.com/eventbridge/latest/userguide/eb-custom-bus-universal-targets.html).
"""

import re
from typing import NamedTuple, Protocol

from penstock.errors import AwsError

from .function_arn import parse_function
from .json_text import decode_json, replace_lone_surrogates
from .sns_arn import parse_topic_arn


class UniversalAction(NamedTuple):
    """An action that a universal target can name, and the members that its request must have."""

    service: str
    api_action: str
    required: tuple[str, ...]

    @property
    def label(self) -> str:
        return f"{self.service}:{self.api_action}"


ACTIONS = (
    SEND_MESSAGE := UniversalAction("sqs", "sendMessage", ("MessageBody", "QueueUrl")),
    PUBLISH := UniversalAction("sns", "publish", ("Message",)),
    INVOKE := UniversalAction("lambda", "invoke", ("FunctionName",)),
)
SUPPORTED = "Penstock calls sqs:sendMessage, sns:publish and lambda:invoke."
_NULL = re.compile(r"(?<!\\)(?:\\\\)*\\u0000").search
_ARN = re.compile(r"arn:aws:(scheduler|events):::aws-sdk:([^:]+):([^:]+)").fullmatch


class UniversalTargetInvalid(Exception):  # noqa: N818 - named for the input
    """The action or its input is invalid. The text is the reason."""


class QueueFinder(Protocol):
    """The part of `penstock.context.Context` that finds resources."""

    account_id: str
    region: str

    def queue_arn(self, queue_url: str, /) -> str:
        """Returns the ARN of the queue at a QueueUrl. Raises QueueDoesNotExist."""


def is_universal(arn: str, service: str) -> bool:
    """Returns whether an ARN names a universal target of the service, `scheduler` or `events`."""
    return arn.startswith(f"arn:aws:{service}:::aws-sdk:")


def read_action(arn: str) -> UniversalAction:
    """Returns the action of a universal target. Raises UniversalTargetInvalid with AWS's text for an unknown action,
    which has capital letters where AWS has none, or reads something."""
    found = _ARN(arn)
    if found is None:
        raise UniversalTargetInvalid(f"The ARN of a universal target ends in aws-sdk:service:apiAction. {SUPPORTED}")
    for action in ACTIONS:
        if (action.service, action.api_action) == (found[2], found[3]):
            return action
    raise UniversalTargetInvalid(f"The api {found[3]} is not valid for the service {found[2]}. {SUPPORTED}")


def read_input(action: UniversalAction, text: str) -> dict[str, object]:
    """Returns the request. Raises UniversalTargetInvalid for a text that is not a JSON object, and for missing
    members."""
    try:
        document = decode_json(text)
    except (ValueError, RecursionError):
        document = None
    if not isinstance(document, dict):
        raise UniversalTargetInvalid("Input is not a JSON object.")
    if _NULL(text) is not None or replace_lone_surrogates(text) != text:
        raise UniversalTargetInvalid("Input has U+0000 or a lone surrogate, which no message can have.")
    missing = [name for name in action.required if document.get(name) is None]
    if missing:
        raise UniversalTargetInvalid(f"Input is missing required field(s): {', '.join(missing)}")
    return document


def find_resource(action: UniversalAction, document: dict[str, object], finder: QueueFinder) -> str:
    """Returns the ARN of the queue, topic or function in a request. Raises UniversalTargetInvalid."""
    if action is SEND_MESSAGE:
        url = str(document["QueueUrl"])
        try:
            if "<" not in url:  # a context attribute would choose the queue after its policy has been checked
                return finder.queue_arn(url)
        except AwsError:
            pass
        raise UniversalTargetInvalid("Input.QueueUrl is not the URL of a queue of this installation.")
    if action is PUBLISH:
        arn = str(document.get("TopicArn") or document.get("TargetArn"))
        if parse_topic_arn(arn) is None or document.get("PhoneNumber") is not None:
            raise UniversalTargetInvalid("Input needs the TopicArn of a topic. Penstock publishes only to topics here.")
        return arn
    return _find_function(document, finder)


def _find_function(document: dict[str, object], finder: QueueFinder) -> str:
    function = parse_function(str(document["FunctionName"]), finder.account_id, finder.region)
    qualifier = document.get("Qualifier")
    if function is not None and qualifier is not None:
        function = parse_function(f"{function._replace(qualifier='')}:{qualifier}", "", "")
    if function is None:
        raise UniversalTargetInvalid("Input.FunctionName or Input.Qualifier does not name a function.")
    return str(function)
