"""Finds out whether the database accepts changes. On a full disk, reads and some deletes still work."""

import asyncio
from time import monotonic
from typing import Final

from penstock.postgres.statements.installation import PROBE_WRITE

from .calls import ExecuteStatement

ACCEPTED_SECONDS: Final = 5.0
"""A monitor learns of a full disk after at most this time, in addition to the time between its own requests."""
REFUSED_SECONDS: Final = 0.5


class WriteProbe:
    """Returns the probe's result to all clients of the process, and makes one probe at a time. A probe is made again
    after ACCEPTED_SECONDS, or after REFUSED_SECONDS if the database refused changes.
    """

    def __init__(self, call: ExecuteStatement) -> None:
        self._call = call
        self._probe: asyncio.Task[str] | None = None
        self._ended_at = float("-inf")

    async def __call__(self) -> str:
        """Returns `disk full` or `read-only`, or "" if the database accepts changes or the probe failed for another
        reason.
        """
        if self._probe is None or (self._probe.done() and self._is_old(self._probe.result())):
            self._probe = asyncio.get_running_loop().create_task(self._run())
        return await asyncio.shield(self._probe)

    def _is_old(self, refusal: str) -> bool:
        return monotonic() - self._ended_at > (REFUSED_SECONDS if refusal else ACCEPTED_SECONDS)

    async def _run(self) -> str:
        try:
            ((refusal,),) = await self._call(PROBE_WRITE, ())
        except Exception:  # noqa: BLE001 - other checks report that a call fails
            refusal = ""
        self._ended_at = monotonic()
        return refusal
