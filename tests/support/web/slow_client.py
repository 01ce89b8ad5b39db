"""A client that reads slowly, as the transport sees it."""


class SlowClient:
    """`unread`: the number of written bytes that the client has not read."""

    def __init__(self, unread: int) -> None:
        self.unread = unread
        self.aborted = False

    def get_write_buffer_size(self) -> int:
        return self.unread

    def abort(self) -> None:
        self.aborted = True
