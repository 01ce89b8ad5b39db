"""Who may call what: QUEUE_ACCESS.

    off       everyone; there is no Access object, and nothing is looked at
    presence  whoever sends credentials, whatever they are
    sigv4     whoever signs with an access key of ours (the REST API: whoever brings a bearer key); the account is the
              key's, and another account's queue is open as far as its policy says

Credentials are looked at twice. `check` is pure and comes before the request is read; the guard that it gives for a
signature is a part of the operation, so that its look-ups are effects, which every driver answers in its own way.
"""

import hmac
import logging
import re
from base64 import b64decode
from collections.abc import Callable, Generator
from functools import partial
from hashlib import sha256
from time import monotonic, time
from typing import TYPE_CHECKING, Any, Generic, NamedTuple, Protocol, TypeVar

import msgspec

from . import signing_v4
from .arn import is_account_id, parse_queue_arn, queue_arn
from .effects import Effect, Operation, Row, Rows, Sql
from .errors import (
    AccessDenied,
    InternalFailure,
    InvalidClientTokenId,
    MissingAuthenticationToken,
    SignatureDoesNotMatch,
)
from .policy import Verdict, evaluate
from .sealing import Sealer, Unsealable
from .settings import Settings
from .signing_v4 import Signed
from .statements import FIND_ACCESS_KEY, FIND_BEARER_KEY, READ_POLICIES, Statement

if TYPE_CHECKING:
    from .context import Context, HttpRequest
    from .gateway import GuardedCall

K = TypeVar("K")
Guard = Callable[["GuardedCall"], Operation]

MOST_KEYS = 4096
# A key that nobody knows may be one that was made a moment ago.
UNKNOWN_SECONDS = 1.0

# What a queue's owner can permit to other accounts; everything else is the owner's alone ("Overview of managing
# access", SQS Developer Guide). A new action is the owner's until it is named here.
SHARED = frozenset((
    "ChangeMessageVisibility", "ChangeMessageVisibilityBatch", "DeleteMessage", "DeleteMessageBatch",
    "GetQueueAttributes", "GetQueueUrl", "ListDeadLetterSourceQueues", "PurgeQueue", "ReceiveMessage", "SendMessage",
    "SendMessageBatch",
))  # fmt: skip
# What no policy denies to a queue's own account, so that it can always look at a policy and mend it: on AWS the root
# user can ("AWS actions for project owners": edit or delete an SQS resource-based policy that denies all principals).
NEVER_DENIED = frozenset(("GetQueueAttributes", "SetQueueAttributes"))
# Actions about the caller's own account, not about a queue that exists.
OF_THE_ACCOUNT = frozenset(("CreateQueue", "ListQueues"))
LONGEST_TASK_HANDLE = 1_024
# Members that name a queue by its ARN.
ARN_MEMBERS = ("source_arn", "destination_arn")

_KEY_ID = re.compile(r"[A-Za-z0-9]{16,128}").fullmatch
_log = logging.getLogger(__name__)


class Access(Protocol):
    """A rule about who may call."""

    def check(self, http: "HttpRequest") -> Guard | None:
        """Before the request is read. Raises MissingAuthenticationToken, IncompleteSignature and the like.

        What it gives is the operation of the call, behind the rest of the rule; None: there is no more to check.
        """

    def admitted(self, context: "Context") -> Generator[Effect, Any, None]:
        """A request of the REST API. Raises MissingAuthenticationToken or InvalidClientTokenId."""


def access_of(settings: Settings) -> Access | None:
    """The rule of the settings; None: there is none. Raises SettingError when the encryption key is missing."""
    if settings.queue_access == "off":
        return None
    return Presence() if settings.queue_access == "presence" else Signatures(settings)


class Presence:
    """Credentials must be there."""

    def check(self, http: "HttpRequest") -> None:
        """An Authorization header, or X-Amz-Credential in the query string. Raises MissingAuthenticationToken."""
        if not http.headers.get(b"authorization") and b"X-Amz-Credential=" not in http.query:
            raise MissingAuthenticationToken

    def admitted(self, context: "Context") -> Generator[Effect, Any, None]:
        """Any Authorization header will do. Raises AccessDenied, which is 403: the specification's rule."""
        if not context.http.headers.get(b"authorization"):
            raise AccessDenied(MissingAuthenticationToken.default_message)
        yield from ()


# --- keys ------------------------------------------------------------------------------------------------------------
class AccessKey(NamedTuple):
    """A key that signs."""

    account_id: str
    secret: str


class BearerKey(NamedTuple):
    """A key that is shown. `secret_hash`: SHA-256."""

    account_id: str
    secret_hash: bytes


class Keys(Generic[K]):
    """Keys of one kind, each looked up once in `seconds`: so long a revoked one may still be good."""

    def __init__(self, statement: Statement, read: Callable[[str, Row], K], seconds: float) -> None:
        self._statement = statement
        self._read = read
        self._seconds = seconds
        self._known: dict[str, tuple[float, K]] = {}
        self._unknown: dict[str, float] = {}

    def find(self, key_id: str) -> Generator[Effect, Any, K | None]:
        """The key; None when it is unknown or revoked. What cannot be a key id is not looked up."""
        now = monotonic()
        known = self._known.get(key_id)
        if known is not None and now < known[0]:
            return known[1]
        if not _KEY_ID(key_id) or now < self._unknown.get(key_id, now):
            return None
        rows = yield Sql(self._statement, (key_id,))
        if not rows:
            self._known.pop(key_id, None)
            _remember(self._unknown, key_id, now + min(self._seconds, UNKNOWN_SECONDS))
            return None
        key = self._read(key_id, rows[0])
        _remember(self._known, key_id, (now + self._seconds, key))
        return key


def _remember(cache: dict[str, Any], key_id: str, value: Any) -> None:
    """Bounded: the one that was looked up longest ago makes room."""
    cache.pop(key_id, None)
    if len(cache) >= MOST_KEYS:
        del cache[next(iter(cache))]
    cache[key_id] = value


# --- signatures ------------------------------------------------------------------------------------------------------
class Signatures:
    """Requests must be signed with a key of ours."""

    def __init__(self, settings: Settings) -> None:
        self._sealer = Sealer(settings.queue_encryption_key)
        seconds = settings.queue_access_cache_seconds
        self._access_keys = Keys(FIND_ACCESS_KEY, self._access_key, seconds)
        self._bearer_keys = Keys(FIND_BEARER_KEY, _bearer_key, seconds)

    def check(self, http: "HttpRequest") -> Guard:
        """What the request says of its signature; the guard finds out whether it is true."""
        return partial(self._guarded, signing_v4.parse(http))

    def _guarded(self, signed: Signed, call: "GuardedCall") -> Operation:
        """Verifies the signature, reads the request, asks the queue's policy; then the operation.

        The account is the key's. Nothing of the request but its signature is looked at before that is good.
        """
        context = call.context
        key = yield from self._access_keys.find(signed.access_key_id)
        if key is None:
            raise InvalidClientTokenId
        signing_v4.verify(context.http, signed, key.secret, time())
        found = call.read()
        if signed.service != found.action.service:
            raise SignatureDoesNotMatch(
                f"Credential should be scoped to correct service: '{found.action.service}'."
            )
        if signed.region != found.caller.region:  # of a path that names one
            raise SignatureDoesNotMatch("Credential should be scoped to a valid region.")
        context.account_id, context.region = key.account_id, signed.region
        yield from authorize(found.action.name, found.request, context)
        return (yield from found.action.operation(found.request, context))

    def admitted(self, context: "Context") -> Generator[Effect, Any, None]:
        """`Authorization: Bearer <id>.<secret>` of a key of ours."""
        header = context.http.headers.get(b"authorization")
        if not header:
            raise MissingAuthenticationToken
        scheme, _, token = header.decode("latin-1").partition(" ")
        key_id, _, secret = token.strip().partition(".")
        key = (yield from self._bearer_keys.find(key_id)) if scheme.lower() == "bearer" else None
        if key is None or not hmac.compare_digest(hash_of(secret), key.secret_hash):
            raise InvalidClientTokenId
        context.account_id = key.account_id

    def _access_key(self, key_id: str, row: Row) -> AccessKey:
        account_id, sealed = row
        try:
            return AccessKey(account_id, self._sealer.open(bytes(sealed), key_id, account_id))
        except Unsealable as error:
            _log.error("access key %s was not made with this QUEUE_ENCRYPTION_KEY", key_id)
            raise InternalFailure from error


def _bearer_key(_key_id: str, row: Row) -> BearerKey:
    return BearerKey(row[0], bytes(row[1]))


def hash_of(secret: str) -> bytes:
    """What is stored of a bearer key's secret; it is random, so no salt and no slow hash are needed."""
    return sha256(secret.encode("utf-8", "surrogatepass")).digest()


# --- policies --------------------------------------------------------------------------------------------------------
def authorize(action: str, request: Any, context: "Context") -> Generator[Effect, Any, None]:
    """Raises AccessDenied unless the caller's account may do this to the queue.

    An account may do everything with its own queues that their policies do not deny, and always mend these. Another
    account needs an Allow, and a queue that does not exist is denied to it like one that says nothing. Policies are
    read anew for each call, those of concurrent calls together.
    """
    if action in OF_THE_ACCOUNT:
        return
    for arn in targets(request, context):
        owner = arn.split(":")[4]
        foreign = owner != context.account_id
        if foreign and action not in SHARED:
            raise denied(arn)
        if not foreign and action in NEVER_DENIED:
            continue
        rows = yield Rows(READ_POLICIES, ([arn],))
        verdict = evaluate(
            rows[0][1] if rows else None, context.account_id, action.removesuffix("Batch"), arn
        )
        if verdict is Verdict.DENIED or (foreign and verdict is not Verdict.ALLOWED):
            raise denied(arn)


def targets(request: Any, context: "Context") -> list[str]:
    """ARNs of the queues that a request is about. Raises AccessDenied for a request that names none."""
    queue_url = getattr(request, "queue_url", None)
    if queue_url is not None:
        return [context.queue_arn(queue_url)]
    arns = [arn for member in ARN_MEMBERS if (arn := getattr(request, member, None))]
    task_handle = getattr(request, "task_handle", None)
    if task_handle is not None:
        arns = [source_of(task_handle)]
    if arns:
        # What is no ARN of a queue is for the operation to refuse.
        return [str(parsed) for arn in arns if (parsed := parse_queue_arn(arn)) is not None]
    if not hasattr(request, "queue_owner_aws_account_id"):
        raise AccessDenied
    owner = request.queue_owner_aws_account_id or context.account_id
    arn = queue_arn(context.region, owner, request.queue_name) if is_account_id(owner) else None
    return [] if arn is None else [arn]  # a name that no queue can have is for the operation to refuse


def source_of(task_handle: str) -> str:
    """The queue of a message move task, which its handle names (base64 of JSON); else an empty text."""
    try:
        document = msgspec.json.decode(b64decode(task_handle[:LONGEST_TASK_HANDLE], validate=True))
    except (ValueError, msgspec.DecodeError, RecursionError):
        return ""
    return str(document.get("sourceArn", "")) if isinstance(document, dict) else ""


def denied(arn: str) -> AccessDenied:
    """The queue is not for this caller."""
    return AccessDenied(f"Access to the resource {arn} is denied.")
