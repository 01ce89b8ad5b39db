"""Defines a case: one request with one unusual part, AWS's answer to it, and the source of the answer.

This module knows no answers. The modules of the services define them.
"""

from collections.abc import Mapping
from enum import Enum
from typing import Any, NamedTuple


class Source(NamedTuple):
    """Names the source of an answer. `address` is empty for answers that AWS does not document, and for botocore's
    models."""

    title: str
    address: str = ""

    @property
    def is_ours(self) -> bool:
        return self is OURS


OURS = Source("our choice")
"""AWS does not document the answer, and no user reports the answer."""


class Change(Enum):
    """Changes of a member other than a new value."""

    ABSENT = "absent"


ABSENT = Change.ABSENT

Members = dict[str, Any]


class Answer(NamedTuple):
    """`code` is the code of the Query protocol for SQS and SNS. `code` is empty if the request succeeds.

    `text` has AWS's wording, or None if no source has it. A text that ends in … is the beginning of AWS's text.
    """

    code: str = ""
    text: str | None = None

    def __str__(self) -> str:
        return self.code or "200"


OK = Answer()


class Case(NamedTuple):
    """`given` has changes of the usual request by the path of a member (`Target/Arn`, `Tags/0/Key`). None is null.

    `only` is the protocol of the case, json or query. An empty `only` means both protocols. `form` has additional
    parameters of a Query request as they are written. `unsigned` leaves the signature out. `ours` is Penstock's
    answer if it differs from AWS's, and `why` is the reason.
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
        """Returns the answer that Penstock gives."""
        return self.answer if self.ours is None else self.ours


def changed(usual: Members, changes: Mapping[str, Any]) -> Members:
    """Returns the usual request with the changes of a case."""
    members: Members = _copy(usual)
    for path, value in changes.items():
        _put(members, path.split("/"), _copy(value))
    return members


def _copy(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: _copy(element) for name, element in value.items()}
    return [_copy(element) for element in value] if isinstance(value, list) else value


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
