"""The uses of resources by a request, for authorization. Each row of `penstock.actions` contains the function that
lists a request's uses. The module `uses` of a service has the service's functions. This module has the functions that
every service shares.

If a request names a resource by a text that is not an ARN, authorization checks the user's policies for the whole
account. The operation refuses a text that is not an ARN. Only a process with QUEUE_ACCESS=sigv4 imports the modules
`uses`.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from penstock.errors import AccessDenied

from .context import RequestContext
from .policy.requests import Principal

# The resource for a user's policy if the request has no resource.
ANY = "*"
NO_TOKENS = (
    "This service has no roles and issues no session tokens. Use an access key that `penstock keys` created. If the "
    "request was for AWS, replace AWS_ENDPOINT_URL, which applies to every AWS service, with AWS_ENDPOINT_URL_SQS, "
    "AWS_ENDPOINT_URL_SNS and AWS_ENDPOINT_URL_SCHEDULER."
)


class ActingService(NamedTuple):
    """A service that will act for the caller's resource. Policies can allow the service instead of the caller."""

    principal: Principal
    keys: dict[str, str]


class Use(NamedTuple):
    """A use of one resource by a request. Policies must allow the use.

    `is_owned`: not only the user's policies decide, but also the resource's owner and policy. `action`: the action's
    service and name, if the action differs from the request's action. `acting`: the service that will act for the
    caller. `entries`: the condition keys of each entry of the request. Policies must allow every entry.
    """

    arn: str
    is_owned: bool = True
    action: tuple[str, str] | None = None
    acting: ActingService | None = None
    entries: Sequence[Mapping[str, str]] = ()


Uses = Iterable[Use]
ACCOUNT_USE = Use(ANY, is_owned=False)
REPLAY = ("penstock", "ReplayEvents")
"""The right to read events or messages from the past, by a subscriber of a bus or by a ReplayPolicy."""


def use_account(_: object, __: RequestContext) -> Uses:
    """Returns the caller's account, because the action uses no resource."""
    return (ACCOUNT_USE,)


def use_nothing(_: object, __: RequestContext) -> Uses:
    """Returns no resources, because the action needs no permission."""
    return ()


def refuse_tokens(_: object, __: RequestContext) -> Uses:
    """Raises AccessDenied: Penstock issues no session tokens."""
    raise AccessDenied(NO_TOKENS)


def use_new(service: str, name: str, context: RequestContext) -> Use:
    """Returns a queue, topic or platform application that does not exist yet."""
    return Use(build_arn(service, name, context), is_owned=False)


def build_arn(service: str, name: str, context: RequestContext) -> str:
    """Returns the ARN of a queue or topic, even if the name is invalid or the resource does not exist."""
    return f"arn:aws:{service}:{context.region}:{context.account_id}:{name}"


def build_mapping_arn(mapping_id: str, context: RequestContext) -> str:
    return f"arn:aws:lambda:{context.region}:{context.account_id}:event-source-mapping:{mapping_id}"
