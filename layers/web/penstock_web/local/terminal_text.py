"""Makes texts safe for a terminal."""


def to_printable(text: str) -> str:
    """Replaces control characters, such as escape sequences in a message of an unknown sender, because they could
    change the terminal.
    """
    return "".join(sign if sign.isprintable() else sign.encode("unicode_escape").decode() for sign in text)
