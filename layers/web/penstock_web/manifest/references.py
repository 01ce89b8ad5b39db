"""Converts names in the file to ARNs, and ARNs to names. Resolves `${region}` and `${account}` in policies."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeVar

from penstock.event_sources.targets import parse_target

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class References:
    """Resolves references within one account and region."""

    account: str
    region: str

    def queue_arn(self, name: str) -> str:
        """Returns a queue's ARN. Returns an ARN unchanged."""
        return name if name.startswith("arn:") else f"arn:aws:sqs:{self.region}:{self.account}:{name}"

    def topic_arn(self, name: str) -> str:
        """Returns a topic's ARN."""
        return f"arn:aws:sns:{self.region}:{self.account}:{name}"

    def name(self, arn: str) -> str:
        """Returns a queue's name. Returns the ARN of a queue in another account or region unchanged."""
        start = f"arn:aws:sqs:{self.region}:{self.account}:"
        return arn.removeprefix(start)

    def function(self, text: str) -> str:
        """Returns a function's name. Returns a URL, and the ARN of a function in another account or region, unchanged.
        Raises InvalidParameterValueException.
        """
        start = f"arn:aws:lambda:{self.region}:{self.account}:function:"
        return parse_target(text, self.account, self.region).removeprefix(start)

    def filled(self, document: T) -> T:
        """Replaces `${account}` and `${region}` with the account and the region."""
        return _replace(document, (("${account}", self.account), ("${region}", self.region)), {})

    def portable(self, document: T) -> T:
        """Reverses `filled` in ARNs, and in principals of this account."""
        pairs = (
            (f":{self.region}:{self.account}:", ":${region}:${account}:"),
            (f":iam::{self.account}:", ":iam::${account}:"),
        )
        return _replace(document, pairs, {self.account: "${account}"})


def _replace(value: T, pairs: tuple[tuple[str, str], ...], whole: dict[str, str]) -> T:
    def change(part: object) -> object:
        if isinstance(part, str):
            part = whole.get(part, part)
            for old, new in pairs:
                part = part.replace(old, new)
            return part
        if isinstance(part, dict):
            return {key: change(inner) for key, inner in part.items()}
        return [change(inner) for inner in part] if isinstance(part, list) else part

    return change(value)  # type: ignore[return-value]
