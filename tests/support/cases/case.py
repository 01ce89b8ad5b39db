"""A case: one request that is not quite as usual, and the answer that AWS gives to it, with the source of that.

Nothing here knows an answer; the modules of the services do.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import Enum
from typing import Any, NamedTuple


class Source(NamedTuple):
    """Where an answer is from. `address` is empty for what AWS does not say, and for botocore's models."""

    title: str
    address: str = ""

    @property
    def is_ours(self) -> bool:
        return self is OURS


OURS = Source("our choice")
"""AWS does not say, and no report of a user does."""


class Change(Enum):
    """What a case does to a member, beside giving it another value."""

    ABSENT = "absent"


ABSENT = Change.ABSENT

Members = dict[str, Any]


class Answer(NamedTuple):
    """`code`: empty when the request succeeds; that of the Query protocol for SQS and SNS.

    `text`: as AWS writes it; None when no source has it. One ends in … when AWS's goes on.
    """

    code: str = ""
    text: str | None = None

    def __str__(self) -> str:
        return self.code or "200"


OK = Answer()


class Case(NamedTuple):
    """`given`: changes of the usual request by the path of a member (`Target/Arn`, `Tags/0/Key`); None is null.

    `only`: the protocol that has the case, json or query; empty for both. `form`: parameters that a Query request
    has besides, as they are written. `unsigned`: without a signature, where one is asked for. `ours`: the answer of
    Penstock where it differs, and `why`.
    """

    service: str
    action: str
    parameter: str
    case: str
    given: Mapping[str, Any]
    answer: Answer
    source: Source
    only: str = ""
    form: tuple[tuple[str, str], ...] = ()
    unsigned: bool = False
    ours: Answer | None = None
    why: str = ""

    @property
    def expected(self) -> Answer:
        """What Penstock answers."""
        return self.answer if self.ours is None else self.ours


def changed(usual: Members, changes: Mapping[str, Any]) -> Members:
    """The usual request with the changes of a case."""
    members: Members = _copy(usual)
    for path, value in changes.items():
        _put(members, path.split("/"), _copy(value))
    return members


def _copy(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: _copy(one) for name, one in value.items()}
    return [_copy(one) for one in value] if isinstance(value, list) else value


def _put(node: Any, path: list[str], value: Any) -> None:
    name, *rest = path
    key: Any = int(name) if isinstance(node, list) else name
    if rest:
        if isinstance(node, dict) and key not in node:
            node[key] = {}
        _put(node[key], rest, value)
    elif value is ABSENT:
        node.pop(key, None)
    else:
        node[key] = value
