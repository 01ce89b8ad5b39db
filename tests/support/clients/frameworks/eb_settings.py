"""Contains the Django settings of django-eb-sqs. boto3 reads its endpoint and credentials from the environment."""

from __future__ import annotations

SECRET_KEY = "x"
USE_TZ = True
INSTALLED_APPS = ["eb_sqs"]
EB_SQS_AUTO_ADD_QUEUE = True
EB_SQS_DEFAULT_QUEUE = "eb-default"
EB_SQS_DEFAULT_MAX_RETRIES = 5
EB_SQS_HEALTHCHECK_FILE_NAME = "/dev/null"
