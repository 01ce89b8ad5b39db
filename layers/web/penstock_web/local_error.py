"""The error that commands show as one line."""


class LocalError(Exception):
    """A command or a local server cannot go on. The error's text is one line with a remedy."""
