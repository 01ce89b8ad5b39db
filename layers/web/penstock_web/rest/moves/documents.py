"""Documents of moves that the REST API alone has."""

import msgspec

from penstock.management.moves import PerSecond, ShownMove


class ContinuedMove(msgspec.Struct, forbid_unknown_fields=True):
    """`per_second`: the move's new rate; its own when not given."""

    per_second: PerSecond | None = None


class MoveList(msgspec.Struct):
    """The last ten moves of a queue, the newest first."""

    moves: list[ShownMove]
