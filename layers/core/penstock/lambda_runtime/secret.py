"""Settings of a function in a secret of AWS Secrets Manager instead of the function's environment.

The secret is a JSON object that may have every setting: {"DATABASE_URL": "postgresql://…", "QUOTA_QUEUES": "1000"}. A
function reads it when it starts, and again when the database refuses a connection, since its password may be new. So a
rotation needs no deployment, and other requests do not wait for the secret. Source: "Rotation function" and "Get a
Secrets Manager secret value using Python with client-side caching", AWS Secrets Manager User Guide.
"""

from time import monotonic
from typing import Any, Final

from penstock.errors import ServiceUnavailable
from penstock.settings import SETTINGS, SettingError

SECONDS_BETWEEN_READS: Final = 5.0
"""Shortest time between two reads; otherwise each request would read the secret while the database is down."""
_TIMEOUT_SECONDS: Final = 3  # for connecting and for reading, twice at most


class Secret:
    """The secret of this name or ARN."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._provider: Any = None
        self._read_at = 0.0

    def read(self) -> dict[str, str]:
        """Returns the secret's non-empty settings. Raises ServiceUnavailable, and SettingError for an unknown name."""
        # boto3 is a part of Lambda's runtime. Its import takes longer than all other imports of a function together.
        from aws_lambda_powertools.utilities import parameters  # noqa: PLC0415
        from aws_lambda_powertools.utilities.parameters import exceptions  # noqa: PLC0415
        from botocore.config import Config  # noqa: PLC0415

        self._read_at = monotonic()
        if self._provider is None:
            limits = Config(
                connect_timeout=_TIMEOUT_SECONDS,
                read_timeout=_TIMEOUT_SECONDS,
                retries={"total_max_attempts": 2},
            )
            self._provider = parameters.SecretsProvider(boto_config=limits)
        try:
            members = self._provider.get(self._name, transform="json", force_fetch=True)
        except exceptions.GetParameterError as error:
            raise ServiceUnavailable from error
        except exceptions.TransformParameterError:
            members = None
        return check_members(members)

    def may_be_read(self) -> bool:
        """Returns whether the last read is long enough ago."""
        return monotonic() - self._read_at > SECONDS_BETWEEN_READS


def check_members(members: object) -> dict[str, str]:
    """Returns the members of a secret that are not empty. All must be texts with names of settings.

    Raises SettingError, without their values.
    """
    if not isinstance(members, dict) or not all(isinstance(value, str) for value in members.values()):
        raise SettingError("QUEUE_SECRET must name a secret that is a JSON object with texts")
    if unknown := members.keys() - {setting.name for setting in SETTINGS}:
        raise SettingError(
            f"the secret of QUEUE_SECRET has {', '.join(sorted(unknown))}, which are no settings"
        )
    return {name: value for name, value in members.items() if value}
