"""Schedules as the REST API takes and shows them."""

import re
from datetime import datetime
from typing import Any

import httpx

SECONDS = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ").fullmatch
MILLISECONDS = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z").fullmatch
TARGET = {"queue": "orders", "message": {"do": "it"}}
NEW = {"name": "nightly", "cron": "0 3 * * *", "target": TARGET}


def create(http: httpx.Client, **changes: Any) -> dict[str, Any]:
    answer = http.post("/v1/schedules", json={**NEW, **changes})
    assert answer.status_code == 201, answer.text
    return dict(answer.json())


def refused(answer: httpx.Response) -> tuple[int, str]:
    problem = answer.json()["error"]
    assert problem["message"]
    return answer.status_code, problem["code"]


def names(http: httpx.Client, **query: str) -> list[str]:
    return [one["name"] for one in http.get("/v1/schedules", params=query).json()["schedules"]]


def moments(texts: list[str]) -> list[datetime]:
    assert all(SECONDS(text) for text in texts)
    return [datetime.fromisoformat(text) for text in texts]
