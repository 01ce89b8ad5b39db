"""`penstock up` says so at each start when strangers may be let in."""

from __future__ import annotations

import pytest

from penstock.settings import Settings
from penstock_web.local.up import warn_of_open_access


@pytest.mark.parametrize(
    ("access", "host", "warns"),
    [
        ("off", "0.0.0.0", True),
        ("off", "::", True),
        ("off", "10.0.0.1", True),
        ("off", "queue.internal", True),
        ("presence", "0.0.0.0", True),
        ("sigv4", "0.0.0.0", False),
        ("off", "127.0.0.1", False),
        ("off", "::1", False),
        ("off", "localhost", False),
    ],
)
def test_open_to_other_machines(
    access: str, host: str, warns: bool, capsys: pytest.CaptureFixture[str]
) -> None:
    warn_of_open_access(Settings.read({"QUEUE_ACCESS": access}), host)
    said = capsys.readouterr().err
    assert said.startswith(f"penstock: WARNING: QUEUE_ACCESS={access} and the address {host}: ") is warns
    assert said.count("\n") == warns
