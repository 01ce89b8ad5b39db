"""Chooses the user that runs PostgreSQL and PgBouncer. PostgreSQL and PgBouncer refuse to run as root.

If the caller is root, the servers run as the user `postgres`, or as `nobody` if `postgres` does not exist. Otherwise,
the servers run as the caller's user.
"""

from __future__ import annotations

import os
import pwd
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Final

# The caller's environment (PGHOST, PGDATA, LC_ALL …) must not change the server of `penstock up`.
_ENVIRONMENT: Final = {"PATH": "/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin", "LC_ALL": "C", "TZ": "UTC"}


@dataclass(frozen=True, slots=True)
class SystemAccount:
    """The user that runs the servers. `is_other_user` is true if the caller is root."""

    uid: int
    gid: int
    is_other_user: bool

    @classmethod
    def choose(cls) -> SystemAccount:
        """Returns the caller's user. For root, returns `postgres` or `nobody`."""
        if os.geteuid() != 0:
            return cls(os.geteuid(), os.getegid(), is_other_user=False)
        known = {entry.pw_name: entry for entry in pwd.getpwall()}
        entry = known.get("postgres") or known["nobody"]
        return cls(entry.pw_uid, entry.pw_gid, is_other_user=True)

    def run(
        self, command: Sequence[str | Path], *, log: Path | None = None, environment: Mapping[str, str] | None = None
    ) -> subprocess.CompletedProcess[str]:
        """Runs a command as this user. Returns the exit code and the output. Does not raise an error if the command
        fails.

        If `log` is given, the output goes to the file `log`. Commands that start a server need `log`, because the
        server would otherwise keep this process's pipe open. If a signal interrupts the caller, the method still waits
        for the command, so that the caller can stop the server.
        """
        with (log or Path(os.devnull)).open("ab") as file:
            process = self.start(command, output=file if log else subprocess.PIPE, environment=environment)
            try:
                output, _ = process.communicate()
            except BaseException:
                process.wait()
                raise
        return subprocess.CompletedProcess(process.args, process.returncode, (output or b"").decode(errors="replace"))

    def start(
        self, command: Sequence[str | Path], *, output: IO[bytes] | int, environment: Mapping[str, str] | None = None
    ) -> subprocess.Popen[bytes]:
        """Starts a command as this user. The command runs in a new session, so that Ctrl-C in the terminal does not end
        it.
        """
        user = {"user": self.uid, "group": self.gid, "extra_groups": ()} if self.is_other_user else {}
        return subprocess.Popen(  # type: ignore[call-overload, no-any-return]
            list(map(str, command)),
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
            cwd="/",
            env={**_ENVIRONMENT, **(environment or {})},
            start_new_session=True,
            **user,
        )

    def create_private_folder(self, path: Path, mode: int = 0o700) -> Path:
        """Creates a folder that only this user and root can enter. Changes the rights of an existing folder
        accordingly.
        """
        path.mkdir(parents=True, exist_ok=True)
        path.chmod(mode)
        if self.is_other_user:
            os.chown(path, self.uid, self.gid)
        return path

    def write(self, path: Path, text: str) -> Path:
        """Writes a file that only this user and root can read."""
        path.touch(mode=0o600)
        path.write_text(text)
        if self.is_other_user:
            os.chown(path, self.uid, self.gid)
        return path

    def can_enter(self, path: Path) -> bool:
        """Returns whether this user can enter the folder. In home folders with mode 0700, for example, other users
        cannot enter any folder.
        """
        return self.run(["/bin/sh", "-c", 'cd "$0"', path]).returncode == 0

    def can_run(self, program: Path) -> bool:
        """Returns whether this user can run the program. Starts the program to find out."""
        return self.run(["/bin/sh", "-c", 'exec "$0" --version', program]).returncode == 0
