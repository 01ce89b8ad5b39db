"""Converts between names of queues in the file and ARNs at an endpoint, and resolves `${region}` and `${account}` in
policies."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeVar

from penstock.event_sources.targets import parse_target

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class References:
    """Resolves references of one account and region."""

    account: str
    region: str

    def queue_arn(self, name: str) -> str:
        """Returns an ARN unchanged, and the ARN of a name."""
        return name if name.startswith("arn:") else f"arn:aws:sqs:{self.region}:{self.account}:{name}"

    def topic_arn(self, name: str) -> str:
        """Returns the ARN of a topic of this account."""
        return f"arn:aws:sns:{self.region}:{self.account}:{name}"

    def name(self, arn: str) -> str:
        """Returns the name of a queue of this account and region, or else the ARN."""
        start = f"arn:aws:sqs:{self.region}:{self.account}:"
        return arn.removeprefix(start)

    def function(self, text: str) -> str:
        """Returns the name of a function of this account and region in any notation, or else the ARN or the URL.

        Raises InvalidParameterValueException.
        """
        start = f"arn:aws:lambda:{self.region}:{self.account}:function:"
        return parse_target(text, self.account, self.region).removeprefix(start)

    def filled(self, document: T) -> T:
        """Returns the text with account and region in place of `${account}` and `${region}`."""
        return _replace(document, (("${account}", self.account), ("${region}", self.region)), {})

    def portable(self, document: T) -> T:
        """Reverses `filled` in ARNs and in principals that name this account."""
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
