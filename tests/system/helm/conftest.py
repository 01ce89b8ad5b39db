"""Provides the chart's rendered objects."""

from __future__ import annotations

import pytest

from tests.support.helm.chart import VALUES, Rendered, render


@pytest.fixture(scope="module", params=VALUES)
def rendered(request: pytest.FixtureRequest) -> Rendered:
    """Returns the chart's objects for each values file."""
    return render(request.param)
