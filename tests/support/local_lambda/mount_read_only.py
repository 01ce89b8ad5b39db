"""Starts a command that can write only to /tmp.

    python mount_read_only.py FOLDER:FOLDER… COMMAND …      folders below /tmp stay at their paths

Sources: mount_setattr(2), user_namespaces(7).
"""

import ctypes
import os
import sys
from typing import Any

TEMPORARY = "/tmp"
_TEMPORARY_BYTES = 512 * 2**20  # the number in `limits`, which the script cannot import

_MS_BIND, _MS_REC, _MS_PRIVATE = 0x1000, 0x4000, 0x40000
_CLONE_NEWNS, _CLONE_NEWUSER = 0x20000, 0x10000000
_MOUNT_SETATTR = 442  # the same on every architecture
_AT_FDCWD, _AT_RECURSIVE, _MOUNT_ATTR_RDONLY = -100, 0x8000, 0x1


class _MountAttributes(ctypes.Structure):
    _fields_ = (
        ("attr_set", ctypes.c_uint64),
        ("attr_clr", ctypes.c_uint64),
        ("propagation", ctypes.c_uint64),
        ("userns_fd", ctypes.c_uint64),
    )


def mount_read_only(keep: list[str]) -> None:
    """Makes every file system read-only for this process, and mounts a new /tmp. Raises OSError."""
    libc = ctypes.CDLL(None, use_errno=True)
    _unshare(libc)
    _check(libc.mount(None, b"/", None, _MS_REC | _MS_PRIVATE, None), "mount --make-rprivate /")
    read_only = _MountAttributes(attr_set=_MOUNT_ATTR_RDONLY)
    size = ctypes.c_size_t(ctypes.sizeof(read_only))
    done = libc.syscall(_MOUNT_SETATTR, _AT_FDCWD, b"/", _AT_RECURSIVE, ctypes.byref(read_only), size)
    _check(done, "mount_setattr")
    below = [folder for folder in keep if folder.startswith(f"{TEMPORARY}/")]
    opened = [os.open(folder, os.O_PATH | os.O_DIRECTORY) for folder in below]
    options = f"size={_TEMPORARY_BYTES},mode=1777".encode()
    _check(libc.mount(b"penstock", TEMPORARY.encode(), b"tmpfs", 0, options), "mount -t tmpfs")
    for folder, descriptor in zip(below, opened, strict=True):
        os.makedirs(folder, exist_ok=True)  # noqa: PTH103 - pathlib takes longer to import than all of this
        source = f"/proc/self/fd/{descriptor}".encode()
        _check(libc.mount(source, folder.encode(), None, _MS_BIND | _MS_REC, None), f"mount --bind {folder}")
        os.close(descriptor)


def _unshare(libc: Any) -> None:
    """Creates a mount namespace. For a user other than root, also creates a user namespace with the same user."""
    user, group = os.getuid(), os.getgid()
    _check(libc.unshare(_CLONE_NEWNS if user == 0 else _CLONE_NEWNS | _CLONE_NEWUSER), "unshare")
    if user != 0:
        for name, text in (("setgroups", "deny"), ("uid_map", f"{user} {user} 1"), ("gid_map", f"{group} {group} 1")):
            with open(f"/proc/self/{name}", "w") as file:  # noqa: PTH123 - as above
                file.write(text)


def _check(result: int, what: str) -> None:
    if result != 0:
        raise OSError(ctypes.get_errno(), f"{what}: {os.strerror(ctypes.get_errno())}")


if __name__ == "__main__":
    _, folders, *command = sys.argv
    directory = os.getcwd()  # noqa: PTH109 - as above
    mount_read_only(folders.split(":"))
    os.chdir(directory)  # The working folder is now on a new mount.
    os.execv(command[0], command)
