"""Creates keys, and checks key ids, user names and users' policies."""

import re
import secrets
from base64 import b32encode
from typing import Final, NamedTuple

from .authentication import ACCESS_PREFIX, BEARER_PREFIX, hash_secret
from .policy.checks import has_known_operators
from .policy.statements import find_misspelling, list_statements, read_policy
from .secret_encryption import SecretCipher
from .users import BUILT_IN, MAX_POLICY_LENGTH

_SECRET_BYTES: Final = 30
is_user_name: Final = re.compile(r"[A-Za-z0-9_+=,.@-]{1,64}").fullmatch
"""Matches user names that IAM allows ("IAM and AWS STS quotas", IAM User Guide)."""


def build_key_id(prefix: str) -> str:
    """Returns the prefix and 16 random characters (80 bits). AWS's key ids also have 20 characters."""
    return prefix + b32encode(secrets.token_bytes(10)).decode()


class CreatedKey(NamedTuple):
    """A new key. `stored` is an encrypted secret, or a bearer key's hash."""

    key_id: str
    secret: str
    stored: bytes


def build_key(*, bearer: bool, account_id: str, encryption_key: str) -> CreatedKey:
    """Creates a key. Raises SettingError if an access key has no encryption key. A bearer key needs no encryption
    key."""
    key_id, secret = (build_key_id(BEARER_PREFIX if bearer else ACCESS_PREFIX), secrets.token_urlsafe(_SECRET_BYTES))
    if bearer:
        return CreatedKey(key_id, secret, hash_secret(secret))
    return CreatedKey(key_id, secret, SecretCipher(encryption_key).encrypt(secret, key_id, account_id))


def find_form_problem(text: str) -> str | None:
    """Returns the reason why a text is not a user's policy. Returns None for a built-in policy's name or a valid JSON
    policy."""
    if text in BUILT_IN:
        return None
    if len(text) > MAX_POLICY_LENGTH:
        return f"a policy has at most {MAX_POLICY_LENGTH} characters"
    if problem := find_misspelling(text):
        return problem
    if problem := _find_element_problem(text):
        return problem
    statements = read_policy(text, of_user=True).statements
    if not statements:
        return f"a policy is {', '.join(BUILT_IN)} or IAM's JSON, not {text[:40]!r}"
    if not all(statement.denies or statement.is_complete for statement in statements):
        return "a statement has an element, a condition or a variable that Penstock does not support"
    return None


def _find_element_problem(text: str) -> str | None:
    """Returns a problem for the first element that a user's policy must not contain.

    Source: "IAM JSON policy elements: Principal", "…: Condition operators" (IAM User Guide).
    """
    for statement in list_statements(text):
        if "Principal" in statement or "NotPrincipal" in statement:
            return "a user's policy has no Principal, because the policy applies to its user"
        if not has_known_operators(statement.get("Condition", {})):
            return "a Condition has operators of IAM, and each operator has keys with values"
    return None
