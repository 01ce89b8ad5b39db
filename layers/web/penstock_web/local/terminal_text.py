"""Makes texts safe for a terminal."""


def make_printable(text: str) -> str:
    """Replaces characters that would change a terminal, such as escape sequences in a message of an unknown sender."""
    return "".join(sign if sign.isprintable() else sign.encode("unicode_escape").decode() for sign in text)
