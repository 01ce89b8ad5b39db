"""Tests IAM tokens instead of a password: the signed text, and logins to PostgreSQL.

The tests do not use AWS. The sources are "IAM database authentication for MariaDB, MySQL, and PostgreSQL", Amazon RDS
User Guide (Signature Version 4 signs a token, which is valid for 15 minutes), and "Authenticating Requests: Using Query
Parameters (AWS Signature Version 4)", Amazon S3 API Reference (the parameters of a presigned URL).
"""

import hashlib
import hmac
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import parse_qs, quote, urlencode

import psycopg
import pytest
from psycopg import sql

from penstock.errors import ServiceUnavailable
from penstock.lambda_runtime.environment import ExecutionEnvironment
from penstock.postgres import iam_token
from penstock.postgres.address import parse_address
from penstock.postgres.database import Database
from penstock.postgres.iam_token import TokenError, add_token, build_token
from penstock.postgres.statements.installation import DUE_WORK
from penstock.settings import DRIVERS, SettingError, Settings
from penstock_web.database import connect as container
from penstock_web.database.pool import Pool
from penstock_web.local.migrating import migrate_or_explain
from penstock_web.local.postgres import DATABASE, Postgres, running_postgres
from penstock_web.local.state import ephemeral_state
from penstock_web.local.system_account import SystemAccount
from tests.support.database import memory_directory
from tests.support.tls.certificates import Authority

pytestmark = pytest.mark.xdist_group("iam tokens")

HOST, USER, REGION = "127.0.0.1", "functions", "eu-west-1"
KEY, SECRET = "AKIDEXAMPLE", "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY"
OURS = Authority()


@pytest.fixture(autouse=True)
def credentials(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[None]:
    """Sets only the credentials that Lambda gives to a function."""
    for name in ("AWS_PROFILE", "AWS_SESSION_TOKEN"):
        monkeypatch.delenv(name, raising=False)
    for name in ("AWS_CONFIG_FILE", "AWS_SHARED_CREDENTIALS_FILE"):
        monkeypatch.setenv(name, str(tmp_path / "none"))
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", KEY)
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", SECRET)
    monkeypatch.setenv("AWS_DEFAULT_REGION", REGION)
    iam_token._build_client.cache_clear()
    yield
    iam_token._build_client.cache_clear()


@pytest.fixture(scope="module")
def server() -> Iterator[Postgres]:
    """Runs a server with TLS, as RDS does. The tests set the user's password. Skips the tests if PostgreSQL lacks
    TLS."""
    account = SystemAccount.choose()
    with ephemeral_state(memory_directory()) as state:
        folder, own = account.create_private_folder(state / "tls"), OURS.server(HOST)
        settings = {
            "fsync": "off",
            "ssl": "on",
            "ssl_cert_file": str(account.write(folder / "crt", own.certificate)),
            "ssl_key_file": str(account.write(folder / "key", own.key)),
        }
        with running_postgres(state, account, settings=settings) as server:
            migrate_or_explain(server.service_dsn(), None)
            administer(server, sql.SQL("create role {} login in role penstock_api").format(sql.Identifier(USER)))
            yield server


@pytest.fixture
def tokens(server: Postgres, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Returns the created tokens. The server accepts only the newest token, as if the other tokens had expired."""
    made: list[str] = []

    def recorded(host: str, port: int, user: str) -> str:
        token = f"{build_token(host, port, user)}&number={len(made)}"
        set_password(server, token)
        made.append(token)
        return token

    monkeypatch.setattr(iam_token, "build_token", recorded)
    set_password(server, "a wrong password")
    return made


def administer(server: Postgres, statement: sql.Composed) -> None:
    with psycopg.connect(server.superuser_dsn(DATABASE), autocommit=True) as administrator:
        administrator.execute(statement)


def set_password(server: Postgres, password: str) -> None:
    change = sql.SQL("alter role {} password {}")
    administer(server, change.format(sql.Identifier(USER), sql.Literal(password)))


def address(server: Postgres, folder: Path, mode: str = "verify-full") -> str:
    """Returns the address without a password."""
    (folder / "roots.pem").write_text(OURS.pem)
    more = urlencode({"sslmode": mode, "sslrootcert": folder / "roots.pem"}, quote_via=quote)
    return f"postgresql://{USER}@{HOST}:{server.port}/{DATABASE}?{more}"


def settings_of(url: str) -> Settings:
    return Settings.read({"DATABASE_URL": url, "QUEUE_DATABASE_AUTH": "iam"})


def signed(key: bytes, text: str) -> bytes:
    return hmac.new(key, text.encode(), hashlib.sha256).digest()


def test_a_token_is_a_presigned_request() -> None:
    """The token is the user's presigned `connect` request to rds-db, without the scheme. The test computes the
    signature independently."""
    place, _, query = build_token("db.example.eu-west-1.rds.amazonaws.com", 5433, USER).partition("/?")
    fields = {name: value for name, (value,) in parse_qs(query, strict_parsing=True).items()}
    assert place == "db.example.eu-west-1.rds.amazonaws.com:5433"
    given = fields.pop("X-Amz-Signature")
    day = fields["X-Amz-Date"][:8]
    scope = f"{day}/{REGION}/rds-db/aws4_request"
    assert fields == {
        "Action": "connect",
        "DBUser": USER,
        "X-Amz-Algorithm": "AWS4-HMAC-SHA256",
        "X-Amz-Credential": f"{KEY}/{scope}",
        "X-Amz-Date": fields["X-Amz-Date"],
        "X-Amz-Expires": "900",
        "X-Amz-SignedHeaders": "host",
    }
    canonical = "&".join(f"{quote(name, safe='')}={quote(fields[name], safe='')}" for name in sorted(fields))
    request = f"GET\n/\n{canonical}\nhost:{place}\n\nhost\n{hashlib.sha256().hexdigest()}"
    key = f"AWS4{SECRET}".encode()
    for part in (day, REGION, "rds-db", "aws4_request"):
        key = signed(key, part)
    digest = hashlib.sha256(request.encode()).hexdigest()
    text = f"AWS4-HMAC-SHA256\n{fields['X-Amz-Date']}\n{scope}\n{digest}"
    assert signed(key, text).hex() == given


@pytest.mark.parametrize("driver", DRIVERS)
def test_each_connection_of_a_function_has_its_own(
    server: Postgres, tmp_path: Path, tokens: list[str], driver: str
) -> None:
    """The first token has expired when the function needs the second token. A connection that is already open does not
    need a token."""
    environment = ExecutionEnvironment(
        {"DATABASE_URL": address(server, tmp_path), "QUEUE_DATABASE_AUTH": "iam", "QUEUE_DATABASE_DRIVER": driver}
    )
    for _ in range(2):
        environment.database.call(DUE_WORK, ())
    assert len(tokens) == 1
    environment.database.close()
    environment.database.call(DUE_WORK, ())
    assert len(tokens) == 2
    environment.close()


async def test_connections_of_the_container(server: Postgres, tmp_path: Path, tokens: list[str]) -> None:
    url = settings_of(address(server, tmp_path)).direct_url
    connection = await container.connect(url, 8)
    await connection.close()
    pool = Pool(url, 1, 10)
    await pool.open()
    await pool.call(DUE_WORK, ())
    await pool.close()
    assert len(tokens) == 2


def test_a_migration_logs_in_with_a_token(server: Postgres, tmp_path: Path, tokens: list[str]) -> None:
    """The user can log in with a token, and the migration succeeds."""
    with pytest.raises(Exception, match="cannot migrate: "):
        migrate_or_explain(settings_of(address(server, tmp_path)).direct_url, None)
    assert len(tokens) == 1


@pytest.mark.parametrize(
    ("url", "said"),
    [
        ("postgresql://u@h/d", "sslmode=verify-full"),
        ("postgresql://u@h/d?sslmode=require", "sslmode=verify-full"),
        ("postgresql://h/d?sslmode=verify-full", "one host and a user"),
        ("host=a,b user=u sslmode=verify-full", "one host and a user"),
    ],
)
@pytest.mark.parametrize("driver", DRIVERS)
def test_addresses_with_which_a_token_cannot_be_used(url: str, said: str, driver: str) -> None:
    database = Database(settings_of(url).database_url, driver)
    with pytest.raises(SettingError, match=said):
        database.connection()


def test_a_password_stays_without_the_setting() -> None:
    given = parse_address(Settings.read({"DATABASE_URL": "postgresql://u:secret@h/d"}).database_url)
    assert add_token(given)["password"] == "secret"


@pytest.mark.parametrize("driver", DRIVERS)
def test_without_credentials_or_a_region(
    server: Postgres, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, driver: str
) -> None:
    """The response has the status 503. The next request tries again, because the credentials can arrive later."""
    database = Database(settings_of(address(server, tmp_path)).database_url, driver)
    monkeypatch.delenv("AWS_ACCESS_KEY_ID")
    with pytest.raises(ServiceUnavailable) as refused:
        database.connection()
    assert "Unable to locate credentials" in str(refused.value.__cause__)
    iam_token._build_client.cache_clear()
    monkeypatch.delenv("AWS_DEFAULT_REGION")
    with pytest.raises(TokenError, match="region"):
        build_token("h", 5432, USER)
