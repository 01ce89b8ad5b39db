"""Runs the scenarios with the AWS command line: `python -m tests.support.clients.awscli_client URL` prints the facts.

All commands run in one process, because a separate process would take a second for each command.
"""

from __future__ import annotations

import base64
import contextlib
import io
import json
import os
import re
import sys
from functools import partial
from typing import Any

from awscli.clidriver import create_clidriver

from tests.support.clients.scenario import RefusedError, fifo, run_scenario, standard


def call(endpoint_url: str, method: str, arguments: dict[str, Any]) -> dict[str, Any]:
    """Runs `aws sqs …` and returns its output. Raises RefusedError with the printed code."""
    # Version 1 sends the text of a binary value unchanged, and prints base64.
    options = ["--output", "json", "--cli-input-json", json.dumps(arguments, default=bytes.decode)]
    command = ["--endpoint-url", endpoint_url, "sqs", method.replace("_", "-"), *options]
    output, errors = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(output), contextlib.redirect_stderr(errors):
        code = create_clidriver().main(command)
    if code != 0:
        refused = re.search(r"An error occurred \(([\w.]+)\)", errors.getvalue())
        raise RefusedError(refused[1] if refused else errors.getvalue())
    return dict(json.loads(output.getvalue() or "{}", object_hook=_with_bytes))


def _with_bytes(value: dict[str, Any]) -> dict[str, Any]:
    return {k: base64.b64decode(v) if k == "BinaryValue" else v for k, v in value.items()}


def main(endpoint_url: str) -> None:
    os.environ.update(AWS_ACCESS_KEY_ID="x", AWS_SECRET_ACCESS_KEY="x", AWS_DEFAULT_REGION="us-east-1")
    run = partial(call, endpoint_url)
    facts = {"standard": run_scenario(standard("awscli"), run), "fifo": run_scenario(fifo("awscli.fifo"), run)}
    sys.stdout.write(repr(facts))


if __name__ == "__main__":
    main(sys.argv[1])
