"""Limits the concurrent invocations of a process by slots. The process's mappings share the slots, but one mapping or
account cannot take all slots.

The limit of an account or mapping falls with the number of free slots. Deliveries follow the same rule
(queue.delivery_share names the rule's source).
"""

import asyncio
from collections import Counter, deque
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Final, NamedTuple
from uuid import UUID

ACCOUNT_SHARE: Final = 4
"""The maximum ratio of an account's slots to the slots that stay free. An account can have 160 of 200 slots."""
MAPPING_SHARE: Final = 2
"""The maximum ratio of a mapping's slots to the slots that stay free. A mapping can have 133 of 200 slots."""


class SlotWaiter(NamedTuple):
    """A task that waits for a slot."""

    account_id: str
    mapping_id: UUID
    has_slot: "asyncio.Future[None]"


class InvocationSlots:
    """A fair semaphore. Waiting tasks receive slots in order, except that a task whose account or mapping has its share
    of slots lets the next tasks go first."""

    def __init__(self, most: int) -> None:
        self._free = most
        self._taken: Counter[object] = Counter()
        self._waiting: deque[SlotWaiter] = deque()

    @asynccontextmanager
    async def take(self, account_id: str, mapping_id: UUID) -> AsyncIterator[None]:
        """Waits for a slot and keeps it until the end of the block."""
        waiting = SlotWaiter(account_id, mapping_id, asyncio.get_running_loop().create_future())
        self._waiting.append(waiting)
        self._give()
        try:
            await waiting.has_slot
            yield
        finally:
            if waiting.has_slot.done() and not waiting.has_slot.cancelled():
                self._free += 1
                self._taken.subtract((account_id, mapping_id))
                self._taken += Counter()  # drops entries of 0
            else:
                self._waiting.remove(waiting)
            self._give()

    def _give(self) -> None:
        for waiting in list(self._waiting):
            if not self._free:
                return
            if not waiting.has_slot.done() and self._may_have_one(waiting):
                self._waiting.remove(waiting)
                self._free -= 1
                self._taken.update((waiting.account_id, waiting.mapping_id))
                waiting.has_slot.set_result(None)

    def _may_have_one(self, waiting: SlotWaiter) -> bool:
        return self._taken[waiting.account_id] < max(1, ACCOUNT_SHARE * (self._free - 1)) and self._taken[
            waiting.mapping_id
        ] < max(1, MAPPING_SHARE * (self._free - 1))
