"""Places for invocations of a process, which its mappings share: none of them, and no account, takes all.

As the places of deliveries (queue.delivery_share, which names the source): the fewer are free, the fewer may one have.
"""

import asyncio
from collections import Counter, deque
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Final, NamedTuple
from uuid import UUID

ACCOUNT_SHARE: Final = 4
"""An account may have so many times what stays free: of 200 places 160."""
MAPPING_SHARE: Final = 2
"""A mapping likewise: 133."""


class Waiting(NamedTuple):
    """Who waits for a place."""

    account_id: str
    mapping_id: UUID
    has_place: "asyncio.Future[None]"


class Places:
    """So many places. Who waits gets one in turn, unless others who came later may have one and it may not."""

    def __init__(self, most: int) -> None:
        self._free = most
        self._taken: Counter[object] = Counter()
        self._waiting: deque[Waiting] = deque()

    @asynccontextmanager
    async def one(self, account_id: str, mapping_id: UUID) -> AsyncIterator[None]:
        """A place until the end of the block, for which it waits."""
        waiting = Waiting(account_id, mapping_id, asyncio.get_running_loop().create_future())
        self._waiting.append(waiting)
        self._give()
        try:
            await waiting.has_place
            yield
        finally:
            if waiting.has_place.done() and not waiting.has_place.cancelled():
                self._free += 1
                self._taken.subtract((account_id, mapping_id))
                self._taken += Counter()  # those who have none are forgotten
            else:
                self._waiting.remove(waiting)
            self._give()

    def _give(self) -> None:
        for waiting in list(self._waiting):
            if not self._free:
                return
            if not waiting.has_place.done() and self._may_have_one(waiting):
                self._waiting.remove(waiting)
                self._free -= 1
                self._taken.update((waiting.account_id, waiting.mapping_id))
                waiting.has_place.set_result(None)

    def _may_have_one(self, waiting: Waiting) -> bool:
        return self._taken[waiting.account_id] < max(1, ACCOUNT_SHARE * (self._free - 1)) and self._taken[
            waiting.mapping_id
        ] < max(1, MAPPING_SHARE * (self._free - 1))
