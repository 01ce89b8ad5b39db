"""Makes concerns, and reads the alerts that a receiver got."""

import json
from collections import Counter

from penstock.management.attention import Concern, Level
from tests.support.delivery.receiver import Receiver


def make_concern(kind: str, name: str, *, level: Level = "bad", number: int = 1) -> Concern:
    return Concern(kind, level, name, None, False, number, "A reason.")


def count_changes(receiver: Receiver, path: str = "/200") -> Counter[tuple[str, str, str]]:
    """Counts the changes that the receiver was told in Penstock's JSON: what, kind and name."""
    bodies = [json.loads(request.body) for request in receiver.requests if request.path == path]
    return Counter((change["what"], change["kind"], change["name"]) for body in bodies for change in body["changes"])
