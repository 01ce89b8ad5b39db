"""Calls of the REST API over a real service."""

from typing import Any

import httpx


def send(http: httpx.Client, message: Any, queue: str = "orders", **others: Any) -> int:
    answer = http.post(f"/v1/queues/{queue}/messages", json={"message": message, **others})
    assert answer.status_code == 201, answer.text
    return int(answer.json()["id"])


def receive(http: httpx.Client, queue: str = "orders", **query: int) -> list[dict[str, Any]]:
    answer = http.get(f"/v1/queues/{queue}/messages", params=query)
    assert answer.status_code == 200, answer.text
    messages: list[dict[str, Any]] = answer.json()
    return messages


def error_of(answer: httpx.Response) -> tuple[int, str]:
    assert set(answer.json()) == {"error"}
    assert set(answer.json()["error"]) <= {"code", "message", "detail", "hint"}
    return answer.status_code, answer.json()["error"]["code"]
