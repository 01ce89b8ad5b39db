"""JSON schemas of what operations check themselves, since they say better what is wrong."""


def build_exactly_one_of(*names: str) -> dict[str, object]:
    """Returns the schema of a document that has exactly one of these members, other than null."""
    return {
        "oneOf": [{"required": [name], "properties": {name: {"not": {"type": "null"}}}} for name in names]
    }
