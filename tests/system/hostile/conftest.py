"""PostgreSQL's log is checked after hostile requests as it is after the conformance tests."""

from tests.conformance.conftest import _clean_log  # noqa: F401 - a fixture
