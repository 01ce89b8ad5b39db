"""The targets of mappings: a Lambda function by name or ARN, or a URL, which is Penstock's extension.

`access/functions.py` decides which functions a mapping can invoke. The guard of webhooks checks a URL at each call.
Source: "CreateEventSourceMapping" (AWS Lambda API reference),
https://docs.aws.amazon.com/lambda/latest/api/API_CreateEventSourceMapping.html
"""

from penstock.access.functions import find_function_refusal
from penstock.aws.function_arn import parse_function
from penstock.endpoint import find_endpoint_problem
from penstock.settings import Settings

from .errors import InvalidParameterValueException

URL_PREFIXES = ("http://", "https://")


def is_url(target: str) -> bool:
    """Returns whether the target is a URL and not a function."""
    return target.startswith(URL_PREFIXES)


def parse_target(text: str, account_id: str, region: str) -> str:
    """Returns the ARN or URL in its stored format. An ARN without a qualifier means $LATEST, so the stored format omits
    $LATEST. Raises InvalidParameterValueException."""
    if is_url(text):
        if problem := find_endpoint_problem(text, takes_credentials=False):
            raise InvalidParameterValueException(
                f"The URL of a mapping cannot be used: {problem}.", member="FunctionName"
            )
        return text
    function = parse_function(text, account_id, region)
    if function is None:
        raise InvalidParameterValueException(f"{text} is not the name or the ARN of a function.", member="FunctionName")
    return str(function._replace(qualifier="") if function.qualifier == "$LATEST" else function)


def check_target(target: str, account_id: str, region: str, settings: Settings) -> None:
    """Raises InvalidParameterValueException unless a mapping of this account can invoke the target now."""
    if is_url(target):
        return
    function = parse_function(target, account_id, region)
    refusal = find_function_refusal(function, target, account_id, region, settings)
    if refusal is not None:
        if not settings.queue_lambda_endpoint:
            refusal += " A mapping to a URL does not need this setting."
        raise InvalidParameterValueException(refusal, member="FunctionName")
