"""Matches policy patterns: `*` matches any text, and `?` matches any character ("IAM JSON policy elements: Resource",
IAM User Guide)."""

from functools import lru_cache

# The most patterns in the cache. A topic's policy has at most 7,500 patterns.
MAX_PATTERNS = 16_384


class Pattern:
    """A compiled pattern.

    The pattern is a state machine. Each bit of a number is a position in the pattern that the text can have reached.
    The matcher takes one step per character of the text, even if the pattern has many `*`.
    """

    __slots__ = ("_accepted", "_any", "_exact", "_loops", "_positions")

    def __init__(self, text: str) -> None:
        self._exact = None if "*" in text or "?" in text else text
        self._loops = self._any = 0
        self._positions: dict[str, int] = {}  # by character; the lowest bit is the position before the first character
        at = 1
        for character in text:
            if character == "*":
                self._loops |= at  # the positions of `*`, which match any character
                continue
            at <<= 1
            if character == "?":
                self._any |= at
            else:
                self._positions[character] = self._positions.get(character, 0) | at
        self._accepted = at

    def matches(self, text: str) -> bool:
        if self._exact is not None:
            return text == self._exact
        reached = 1
        for character in text:
            reached = (reached << 1) & (self._positions.get(character, 0) | self._any) | (reached & self._loops)
            if not reached:
                return False
        return bool(reached & self._accepted)


compiled = lru_cache(MAX_PATTERNS)(Pattern)
"""Returns the compiled pattern from the cache. The cache helps because many requests are compared with the same
patterns."""
