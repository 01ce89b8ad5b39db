"""Defines faults in a sandbox: dropped packets, jumping clocks and a full disk."""

import os
import time
from contextlib import suppress
from typing import Final

from tests.support.chaos.faults import Fault, Scene


def drop_packets(scene: Scene) -> float:
    """Drops all packets of clients to the pooler, or to the database, for a while. No client gets an error."""
    port = scene.proxy().port
    scene.sandbox.drop(f"tcp dport {port}", f"tcp sport {port}")
    scene.pause(1, 20)
    scene.sandbox.drop()
    return time.time()


def vanish(scene: Scene) -> float:
    """Removes a host, and lets its name lead to another host. Present connections stay silent forever, and new ones
    work.
    """
    proxy = scene.proxy()
    vanished = time.time()
    if ports := proxy.vanish():
        clients = f"{{ {', '.join(map(str, ports))} }}"
        scene.sandbox.drop(f"tcp dport {proxy.port} tcp sport {clients}", f"tcp sport {proxy.port} tcp dport {clients}")
    return vanished


def turn_clock(scene: Scene) -> float:
    """Moves the database's clock forwards or back, and corrects the clock some seconds later."""
    jump = scene.random.choice((-1, 1)) * scene.random.uniform(1, 20)
    # Leases may end early while the clock is wrong, and after its correction.
    scene.forgotten(time.time() + 60)
    scene.sandbox.turn_clock(jump)
    scene.pause(2, 6)
    scene.sandbox.turn_clock(0)
    scene.forgotten()
    return time.time()


def fill_disk(scene: Scene) -> float:
    """Fills the disk. PostgreSQL may end itself. An operator then makes room and starts the database."""
    begun, ballast = time.time(), scene.sandbox.disk / "ballast"
    with ballast.open("wb") as file, suppress(OSError):
        while True:
            free = os.statvfs(file.fileno())
            os.posix_fallocate(file.fileno(), file.tell(), max(4096, free.f_bavail * free.f_frsize))
            file.seek(0, os.SEEK_END)
    scene.pause(1, 6)
    ballast.unlink()
    freed = time.time()
    scene.rig.start_database()
    scene.forgotten(since=begun)
    return freed


ROOT: Final = (
    Fault("drop_packets", "network", drop_packets, 6),
    Fault("vanish", "network", vanish, 6),
    Fault("turn_clock", "clock", turn_clock, 3),
    Fault("fill_disk", "disk", fill_disk, 2),
)
"""Lists faults that need root."""
