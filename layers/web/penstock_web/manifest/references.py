"""Converts names in the file to ARNs, and ARNs to names. Resolves `${region}` and `${account}` in policies."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeVar

from penstock.event_sources.targets import parse_target

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class References:
    """Converts the names and ARNs of one account and region."""

    account: str
    region: str

    def queue_arn(self, name: str) -> str:
        """Converts a queue's name to an ARN. Returns an ARN unchanged."""
        return name if name.startswith("arn:") else f"arn:aws:sqs:{self.region}:{self.account}:{name}"

    def topic_arn(self, name: str) -> str:
        """Converts a topic's name to an ARN."""
        return f"arn:aws:sns:{self.region}:{self.account}:{name}"

    def name(self, arn: str) -> str:
        """Converts a queue's ARN to a name. Returns an ARN of another account or region unchanged."""
        start = f"arn:aws:sqs:{self.region}:{self.account}:"
        return arn.removeprefix(start)

    def function(self, text: str) -> str:
        """Converts a function's ARN to a name. Returns a URL, and an ARN of another account or region, unchanged.
        Raises InvalidParameterValueException.
        """
        start = f"arn:aws:lambda:{self.region}:{self.account}:function:"
        return parse_target(text, self.account, self.region).removeprefix(start)

    def filled(self, document: T) -> T:
        """Replaces `${account}` and `${region}` with the account and the region."""
        return _replace(document, (("${account}", self.account), ("${region}", self.region)), {})

    def portable(self, document: T) -> T:
        """Replaces the account and the region in ARNs and principals with `${account}` and `${region}`."""
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
