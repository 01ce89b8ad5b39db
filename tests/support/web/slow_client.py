"""A client that reads slowly, as the transport sees it."""


class SlowClient:
    """Of what was written so many bytes are `unread`."""

    def __init__(self, unread: int) -> None:
        self.unread = unread
        self.aborted = False

    def get_write_buffer_size(self) -> int:
        return self.unread

    def abort(self) -> None:
        self.aborted = True
