"""Patterns of policies: `*` is any text, `?` any character ("IAM JSON policy elements: Resource", IAM User Guide)."""

from functools import lru_cache

# Patterns that are kept; a policy of a topic has at most 7,500.
MOST_PATTERNS = 16_384


class Pattern:
    """A compiled pattern.

    The characters of the pattern that the text so far may have reached are the bits of one number. So each character of
    the text takes one step, however many `*` there are: nobody can write a pattern that takes long.
    """

    __slots__ = ("_accepted", "_any", "_exact", "_loops", "_positions")

    def __init__(self, text: str) -> None:
        self._exact = None if "*" in text or "?" in text else text
        self._loops = self._any = 0
        self._positions: dict[str, int] = {}  # of each character; the lowest bit stands before the first
        at = 1
        for character in text:
            if character == "*":
                self._loops |= at  # stays where it is, whatever comes
                continue
            at <<= 1
            if character == "?":
                self._any |= at
            else:
                self._positions[character] = self._positions.get(character, 0) | at
        self._accepted = at

    def matches(self, text: str) -> bool:
        """Whether the whole text matches."""
        if self._exact is not None:
            return text == self._exact
        reached = 1
        for character in text:
            reached = (reached << 1) & (self._positions.get(character, 0) | self._any) | (
                reached & self._loops
            )
            if not reached:
                return False
        return bool(reached & self._accepted)


compiled = lru_cache(MOST_PATTERNS)(Pattern)
"""The pattern of a text. Kept, since conditions of many requests compare with the same ones."""
