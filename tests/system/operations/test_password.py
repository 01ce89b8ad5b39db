"""Changes the password of a running container, which reads it from a file, as docs/operate/rotating.md says."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import httpx
import psycopg
from psycopg.conninfo import conninfo_to_dict, make_conninfo

from tests.support.database import Database, end_sessions
from tests.support.programs.penstock_service import ACCOUNT, running_service

ROLE = "rotating"
SENDS, AT_ONCE = 60, 20
HEADERS = {"x-amz-target": "AmazonSQS.SendMessage", "content-type": "application/x-amz-json-1.0"}
MESSAGE = {"QueueUrl": f"http://x/{ACCOUNT}/orders", "MessageBody": "m"}


def write(file: Path, password: str) -> None:
    file.write_text(f"*:*:*:{ROLE}:{password}\n")
    file.chmod(0o600)


def test_a_password_in_a_file_changes_under_traffic(database: Database, tmp_path: Path) -> None:
    """Sends continue while it changes. Then all connections end, and the next sends need new ones."""
    file = tmp_path / "password"
    write(file, "first")
    place = {name: value for name, value in conninfo_to_dict(database.api_dsn).items() if name != "password"}
    address = make_conninfo("", **{**place, "user": ROLE, "passfile": str(file)})
    with psycopg.connect(database.dsn, autocommit=True) as administrator:
        administrator.execute(f"create role {ROLE} login password 'first' in role penstock_api".encode())
        with running_service(address) as service, service.http() as http, ThreadPoolExecutor(AT_ONCE) as threads:

            def send(_: int = 0) -> int:
                return http.post("/", headers=HEADERS, json=MESSAGE).status_code

            http.post("/v1/queues", json={"name": "orders"}).raise_for_status()
            for password in ("second", "third", "fourth"):
                statuses = threads.map(send, range(SENDS))
                write(file, password)
                administrator.execute(f"alter role {ROLE} password '{password}'".encode())
                assert set(statuses) == {httpx.codes.OK}
                assert end_sessions(administrator) > 0
                assert set(threads.map(send, range(SENDS))) == {httpx.codes.OK}
            administrator.execute(f"alter role {ROLE} password 'not in the file'".encode())
            end_sessions(administrator)
            assert send() == httpx.codes.SERVICE_UNAVAILABLE
        administrator.execute(f"drop role {ROLE}".encode())
