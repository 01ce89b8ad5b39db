"""Answers of the REST API."""

import httpx


def error_code(answer: httpx.Response) -> tuple[int, str]:
    """Status and code of an error."""
    return answer.status_code, answer.json()["error"]["code"]
