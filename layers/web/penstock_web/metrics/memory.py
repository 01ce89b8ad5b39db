"""Stores the numbers of a process in memory that other processes on the same port can read. A scraper cannot choose
among processes that share a port (`up --workers`), because the kernel can give a connection to any process. Therefore,
each process writes its numbers to a file in a shared folder. The process that receives a scrape adds up all files. The
sum includes the counters of ended processes, but not the gauges of ended processes. A running process locks its file,
and readers check the lock.

    NAME.numbers doubles NAME.keys a line of JSON for each block: [first slot, kind, labels...]. If several lines have
    the same first slot, the last line is valid.
"""

import fcntl
import json
import mmap
import os
import tempfile
from array import array
from collections import defaultdict
from contextlib import suppress
from pathlib import Path
from threading import Lock
from typing import Any, Final, cast

from .families import BLOCKS
from .family import Family

Key = tuple[str, ...]
"""A block's key consists of the kind in BLOCKS and the values of the labels."""
SLOT_BYTES: Final = 8
SPARE_SLOTS: Final = 32_768
"""All blocks except the blocks of queues share SPARE_SLOTS slots. Unused slots need no RAM."""


class CounterMemoryFull(Exception):  # noqa: N818 - of a table
    """No slots are free for another block."""


class CounterMemory:
    """Holds slots for numbers, and the blocks that own the slots. The processes on a port share `folder`. `folder` is
    None for a single process. Only one thread writes a slot. The event loop's thread writes the slots of requests, and
    a worker's thread writes the slots of the worker.
    """

    def __init__(self, slots: int, folder: Path | None = None) -> None:
        self.keys: dict[int, Key] = {}
        self._next = 0
        self._lock = Lock()
        self._free: defaultdict[str, list[int]] = defaultdict(list)
        self._folder = folder
        self._own_name: str | None = None
        if folder is None:
            pages = mmap.mmap(-1, slots * SLOT_BYTES)
        else:
            descriptor, name = tempfile.mkstemp(".numbers", "", folder)
            self._own_name = name
            os.ftruncate(descriptor, slots * SLOT_BYTES)
            fcntl.flock(descriptor, fcntl.LOCK_EX)  # until the process ends
            self._descriptor = descriptor
            pages = mmap.mmap(descriptor, slots * SLOT_BYTES)
            self._key_file = _find_keys(Path(name)).open("a")
        self._slots = slots
        # A memoryview is twice as fast as an array, and has the methods of an array that this module uses.
        self.numbers = cast("array[float]", memoryview(pages).cast("d"))

    def allocate(self, kind: str, *labels: str) -> int:
        """Returns the first slot of a new block of zeros. Thread-safe. Raises CounterMemoryFull."""
        with self._lock:
            start = self._free[kind].pop() if self._free[kind] else self._reserve(BLOCKS[kind].slots)
            self.keys[start] = (kind, *labels)
            self._write(start)
        return start

    def _reserve(self, size: int) -> int:
        if self._next + size > self._slots:
            raise CounterMemoryFull
        start, self._next = self._next, self._next + size
        return start

    def release(self, start: int, into: int) -> None:
        """Adds the block at `start` to the block at `into`, and frees the slots at `start`."""
        with self._lock:
            kind = self.keys.pop(start)[0]
            for offset in range(BLOCKS[kind].slots):
                self.numbers[into + offset] += self.numbers[start + offset]
                self.numbers[start + offset] = 0.0
            self._free[kind].append(start)
            self._write(start)

    def _write(self, start: int) -> None:
        if self._own_name is not None:
            self._key_file.write(json.dumps([start, *self.keys.get(start, ())]) + "\n")
            self._key_file.flush()

    def close(self) -> None:
        """Releases the lock. Other processes then see that this process has ended."""
        if self._own_name is not None:
            self._key_file.close()
            fcntl.flock(self._descriptor, fcntl.LOCK_UN)  # The mapping keeps the file open.
            os.close(self._descriptor)
            self._own_name = None

    # --- reading -----------------------------------------------------------------------------------------------------
    def total(self) -> dict[Key, list[float]]:
        """Returns the sums of every block over all processes on the port."""
        blocks = {key: self._block(start, key) for start, key in list(self.keys.items())}
        for path in self._other_files():
            add_process(blocks, path)
        return blocks

    def _block(self, start: int, key: Key) -> list[float]:
        return self.numbers[start : start + BLOCKS[key[0]].slots].tolist()

    def _other_files(self) -> list[Path]:
        if self._folder is None:
            return []
        return [path for path in sorted(self._folder.glob("*.numbers")) if str(path) != self._own_name]


def _find_keys(numbers: Path) -> Path:
    return numbers.with_suffix(".keys")


def add_process(blocks: dict[Key, list[float]], path: Path) -> None:
    """Adds the numbers of another process. Omits the gauges of an ended process."""
    # A process that is starting has no key file yet.
    with suppress(FileNotFoundError), path.open("rb") as file:
        alive = is_alive(file)
        keys: dict[int, Key] = {}
        with _find_keys(path).open() as lines:
            for line in lines:
                if line.endswith("\n"):
                    start, *key = json.loads(line)
                    keys[start] = tuple(key)
        numbers = array("d", file.read())
        for start, key in keys.items():
            if key:
                add_block(blocks, key, numbers[start : start + BLOCKS[key[0]].slots].tolist(), alive)


def is_alive(file: Any) -> bool:
    """Returns whether the process that wrote the file still runs."""
    try:
        fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    fcntl.flock(file, fcntl.LOCK_UN)
    return False


def add_block(blocks: dict[Key, list[float]], key: Key, numbers: list[float], alive: bool) -> None:
    """Adds the block of another process to `blocks`. `alive` says whether the other process still runs."""
    known = blocks.setdefault(key, [0.0] * len(numbers))
    position = 0
    for family in BLOCKS[key[0]].families:
        for slot in range(position, position + family.slots):
            known[slot] = combine(family, known[slot], numbers[slot], alive)
        position += family.slots


def combine(family: Family, known: float, number: float, alive: bool) -> float:
    """Combines the values of a number in two processes. `alive` says whether the process with `number` still runs."""
    if family.kind == "gauge" and not alive:
        return known
    return max(known, number) if family.takes_maximum else known + number
