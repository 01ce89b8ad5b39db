"""Checks PostgreSQL's log after hostile requests, as after the conformance tests."""

from tests.conformance.conftest import _clean_log  # noqa: F401 - a fixture
