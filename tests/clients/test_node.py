"""The SDK for JavaScript, which checks MD5 digests itself, and the consumer most used with it."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest

from tests.clients.test_python import ROOT
from tests.up import Up

MODULES = ROOT / ".tools/clients/node"


@pytest.mark.clients
def test_sqs_consumer(up: Up) -> None:
    assert (MODULES / "node_modules").is_dir(), f"{MODULES} is missing: run `make clients`"
    script = Path(__file__).parent / "node/consumer.cjs"
    done = subprocess.run(
        ["node", str(script), str(MODULES), up.address], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout) == {
        "standard": {
            "failed": 0,
            "sent": [3, 0],
            "received": [["grüße", "1"], ["three", "1"], ["two", "2"]],
            "text": "tëxt",
            "bytes": [0, 255],
            "left": [0, 0],
            "direct": ["direct", "2"],
            "end": [0, 0],
            "error": "QueueDoesNotExist",
        },
        "fifo": {"sent": [3, 0], "duplicate": True, "received": ["1", "2", "3"], "left": [0, 0]},
    }
