"""Provides the chart as Helm renders it."""

from __future__ import annotations

import pytest

from tests.support.helm.chart import VALUES, Rendered, render


@pytest.fixture(scope="module", params=VALUES)
def rendered(request: pytest.FixtureRequest) -> Rendered:
    """Returns the objects of the chart with each file of values."""
    return render(request.param)
