"""Makes concerns, and reads the alerts that a receiver got."""

import json
from collections import Counter

import msgspec

from penstock.management.attention.concerns import Concern
from penstock.management.verdicts import Level
from tests.support.delivery.receiver import Receiver


def build_concern(kind: str, name: str, *, level: Level = "bad", number: int = 1) -> Concern:
    known = {"kind": kind, "level": level, "name": name, "number": number, "text": "A reason.", "page": "/console"}
    return msgspec.convert({"since": None, "since_or_before": False, **known}, Concern)


def count_changes(receiver: Receiver, path: str = "/200") -> Counter[tuple[str, str, str]]:
    """Counts the changes that the receiver was told in Penstock's JSON: what, kind and name."""
    bodies = [json.loads(request.body) for request in receiver.requests if request.path == path]
    return Counter((change["what"], change["kind"], change["name"]) for body in bodies for change in body["changes"])
