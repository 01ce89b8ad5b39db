"""Puts, returns, deletes and lists the resource policies of event buses.

A customer's policy has the name `default`. The policy `AWS_RAM` belongs to AWS Resource Access Manager, which Penstock
does not have: reading it fails with ResourceNotFoundException, and writing it with AccessDeniedException.
"""

from uuid import uuid4

from penstock.access.audit.acts import Act, audited
from penstock.access.policy.checks import EVENTS_RULES, find_policy_problem
from penstock.access.policy.statements import as_list, list_statements
from penstock.context import Context
from penstock.effects import Call, Operation
from penstock.postgres.statements.event_buses import DELETE_EVENT_BUS_POLICY, PUT_EVENT_BUS_POLICY

from . import stored
from . import types as events
from .errors import (
    AccessDeniedException,
    ConflictException,
    InvalidInputException,
    PolicyLengthExceededException,
    PublicPolicyException,
    ResourceNotFoundException,
)

DEFAULT, RAM = "default", "AWS_RAM"
NO_POLICY = "NO_POLICY"
MAX_BYTES = 20_480
_ACCOUNT_KEYS = frozenset((
    "aws:principalaccount", "aws:principalarn", "aws:principalorgid", "aws:principalorgpaths", "aws:sourceaccount",
    "aws:sourcearn", "aws:sourceorgid", "aws:sourceorgpaths",
))  # fmt: skip


@audited(lambda request, _context: Act("events:PutResourcePolicy", request.resource_arn, when_changed=True))
def put_resource_policy(
    request: events.PutResourcePolicyRequest, context: Context
) -> Operation[events.PutResourcePolicyResult]:
    """Stores the policy of a bus. With ExpectedRevisionId, the stored policy must have this revision."""
    stored.check_region(request.resource_arn, context)
    name = _check_written_name(request.policy_name)
    _check_document(request.policy_document)
    revision = uuid4().hex
    arguments = (request.resource_arn, request.policy_document, revision, request.expected_revision_id)
    (row,) = yield from Call(PUT_EVENT_BUS_POLICY, arguments)
    _raise_error(row.error, request.resource_arn)
    return events.PutResourcePolicyResult(resource_arn=request.resource_arn, policy_name=name, revision_id=revision)


def get_resource_policy(
    request: events.GetResourcePolicyRequest, context: Context
) -> Operation[events.GetResourcePolicyResult]:
    """Returns the policy of a bus. Raises ResourceNotFoundException if the bus has no policy."""
    name = _check_name(request.policy_name)
    bus = yield from stored.read_bus(request.resource_arn, context)
    if name == RAM or bus.policy is None:
        raise ResourceNotFoundException(f"The event bus {bus.arn} has no policy {name}.")
    return events.GetResourcePolicyResult(
        resource_arn=bus.arn, policy_document=bus.policy, policy_name=name, revision_id=bus.policy_revision or ""
    )


@audited(lambda request, _context: Act("events:DeleteResourcePolicy", request.resource_arn, when_changed=True))
def delete_resource_policy(
    request: events.DeleteResourcePolicyRequest, context: Context
) -> Operation[events.DeleteResourcePolicyResult]:
    """Deletes the policy of a bus. Succeeds if the bus has no policy and the request has no ExpectedRevisionId."""
    stored.check_region(request.resource_arn, context)
    _check_written_name(request.policy_name)
    if request.expected_revision_id == NO_POLICY:
        raise InvalidInputException(f"ExpectedRevisionId cannot be {NO_POLICY} in DeleteResourcePolicy.")
    (row,) = yield from Call(DELETE_EVENT_BUS_POLICY, (request.resource_arn, request.expected_revision_id))
    _raise_error(row.error, request.resource_arn)
    return events.DeleteResourcePolicyResult(revision_id=row.revision)


def list_resource_policies(
    request: events.ListResourcePoliciesRequest, context: Context
) -> Operation[events.ListResourcePoliciesResult]:
    """Returns the policy of a bus, if the bus has one. The list always fits on one page."""
    stored.read_page_token(request)
    bus = yield from stored.read_bus(request.resource_arn, context)
    found = [] if bus.policy_revision is None else [events.ResourcePolicySummary(DEFAULT, bus.policy_revision)]
    return events.ListResourcePoliciesResult(policy_summaries=found)


# --- checks ----------------------------------------------------------------------------------------------------------
def _check_name(name: str | None) -> str:
    if name not in (None, DEFAULT, RAM):
        raise InvalidInputException(f"PolicyName must be {DEFAULT} or {RAM}.")
    return name or DEFAULT


def _check_written_name(name: str | None) -> str:
    if _check_name(name) == RAM:
        raise AccessDeniedException(f"Only AWS Resource Access Manager can write the policy {RAM}.")
    return DEFAULT


def _check_document(text: str) -> None:
    """Raises an error for a policy that is too long, invalid or public."""
    if len(text.encode()) > MAX_BYTES:
        raise PolicyLengthExceededException(f"A policy has at most {MAX_BYTES} bytes.")
    problem = find_policy_problem(text, EVENTS_RULES)
    if problem is not None:
        found = f" ({problem.found})" if problem.found else ""
        raise InvalidInputException(f"PolicyDocument is not a valid policy: {problem.kind}{found}.")
    if any(map(_is_public, list_statements(text))):
        raise PublicPolicyException("The policy allows everybody. Name accounts, or add a condition on the account.")


def _is_public(statement: dict[str, object]) -> bool:
    """Returns whether a statement allows every account without a condition on the account."""
    if statement.get("Effect") != "Allow":
        return False
    principal = statement.get("Principal", "*")  # an Allow with NotPrincipal also applies to everybody else
    identities = as_list(principal.get("AWS") if isinstance(principal, dict) else principal)
    condition = statement.get("Condition")
    keys = {
        str(key).lower()
        for operator, compared in (condition.items() if isinstance(condition, dict) else ())
        if isinstance(compared, dict)
        and "not" not in str(operator).lower()
        and str(operator).lower() != "null"
        and not str(operator).lower().endswith("ifexists")
        for key in compared
    }
    return "*" in identities and not keys & _ACCOUNT_KEYS


def _raise_error(code: str | None, arn: str) -> None:
    if code == "Conflict":
        raise ConflictException("The policy has another revision than ExpectedRevisionId.")
    stored.raise_error(code, arn)
