r"""Converts patterns of the `wildcard` operator to patterns of SQL's LIKE.

`*` stands for any text. Sources: the README of github.com/aws/event-ruler for its escapes; SNS Developer Guide,
"Wildcard pattern usage guidelines", for the number of wildcards.
"""

MAX_WILDCARDS = 3  # in one pattern


class WildcardError(ValueError):
    """The pattern is not valid. The text gives the reason."""


def build_like_pattern(text: str) -> tuple[str, int]:
    r"""Returns a LIKE pattern for a wildcard pattern, and the number of wildcards. `\*` is a star, and `\\` is a
    backslash."""
    parts, stars, at = [], 0, 0
    while at < len(text):
        character, following = text[at], text[at + 1 : at + 2]
        if character == "*":
            if following == "*":
                raise WildcardError(f"Consecutive wildcard characters at pos {_find_position(text, at)}")
            parts.append("%")
            stars += 1
        elif character == "\\":
            if following not in ("*", "\\"):
                raise WildcardError(f"Invalid escape character at pos {_find_position(text, at)}")
            parts.append(escape_literal(following))
            at += 1
        else:
            parts.append(escape_literal(character))
        at += 1
    if stars > MAX_WILDCARDS:
        raise WildcardError("Filter policy is too complex")
    return "".join(parts), stars


def _find_position(text: str, at: int) -> int:
    """Returns the position in bytes from the pattern's opening quote, as AWS's engine counts."""
    return 1 + len(text[:at].encode())


def escape_literal(text: str) -> str:
    """Returns a LIKE pattern that matches only this text."""
    return text.replace("\\", "\\\\").replace("%", "\\%").replace("_", "\\_")
