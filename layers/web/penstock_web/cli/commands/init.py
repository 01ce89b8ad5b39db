"""Implements `penstock init`: writes a small application into an empty folder."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Final

import typer

from penstock_web.local_error import LocalError

STARTER: Final = Path(__file__).parents[1] / "starter"

NEXT_STEPS: Final = """\
Next:
  penstock up --file penstock.yaml    # the service with these queues, on http://127.0.0.1:9324
  python worker.py                    # in another terminal (pip install boto3)
  penstock send orders '{"order": 1}'
  python -m pytest                    # (pip install pytest)
"""

app = typer.Typer()


@app.command("init", help="write penstock.yaml, compose.yaml, a worker and a test into an empty folder")
def init(
    folder: Annotated[Path, typer.Argument(metavar="FOLDER", help="the folder; init creates it if necessary")] = Path(),
) -> None:
    """Writes the application. Raises LocalError if the folder is not empty."""
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise LocalError(f"{folder.absolute()} is not an empty folder")
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for file in sorted(STARTER.iterdir(), key=lambda path: path.name):
            if file.is_file():
                (folder / file.name).write_text(file.read_text())
                print(folder / file.name)
    except OSError as error:
        raise LocalError(f"{folder}: {error.strerror}") from error
    print(f"\n{NEXT_STEPS}", end="")
