"""Defines documents of moves that only the REST API has."""

import msgspec

from penstock.moves.move_tasks import PerSecond, ShownMoveTask


class ContinuedMoveTask(msgspec.Struct, forbid_unknown_fields=True):
    """`per_second` is the new rate of the move. The default is its present rate."""

    per_second: PerSecond | None = None


class MoveTaskList(msgspec.Struct):
    """Lists the last ten moves of a queue, the newest first."""

    moves: list[ShownMoveTask]
