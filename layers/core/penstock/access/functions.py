"""Decides which Lambda functions this installation invokes for mappings, subscriptions and schedules.

Penstock invokes functions with the credentials of the process, not with the caller's credentials. Therefore the
function must be in the caller's account and region, and QUEUE_LAMBDA_FUNCTIONS must contain the function's name. On
AWS, the policies of functions and roles decide whether a caller can invoke a function.
"""

from fnmatch import fnmatchcase

from penstock.aws.function_arn import FunctionArn
from penstock.settings import Settings
from penstock.settings.formats import split_list


def find_function_refusal(
    function: FunctionArn | None, text: str, account_id: str, region: str, settings: Settings
) -> str | None:
    """Returns the reason why the installation refuses to invoke the function, or None. `text` is the function's name
    in the request."""
    if function is None or (function.account_id, function.region) != (account_id, region):
        return f"The function {text} must be in the region {region} and belong to the account {account_id}."
    if not settings.queue_lambda_endpoint:
        return "This installation invokes no functions: its setting QUEUE_LAMBDA_ENDPOINT is empty."
    if not is_listed(function, settings):
        return f"The function {text} is not among those that this installation may invoke (QUEUE_LAMBDA_FUNCTIONS)."
    return None


def is_listed(function: FunctionArn, settings: Settings) -> bool:
    """Returns whether QUEUE_LAMBDA_FUNCTIONS allows the function. An empty list allows all functions if access
    control is off."""
    listed = split_list(settings.queue_lambda_functions)
    if not listed:
        return settings.queue_access == "off"
    arn = str(function._replace(qualifier=""))
    return any(fnmatchcase(arn, entry) or fnmatchcase(function.name, entry) for entry in listed)
