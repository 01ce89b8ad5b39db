"""Provides one Spark session for all job tests. Modules that use the session have the mark xdist_group("spark"), so
that only one test process starts a JVM."""

from collections.abc import Iterator
from typing import Any

import pytest
from pyspark.sql import DataFrame, SparkSession

from penstock_metrics.spark.session import open_session

# These settings suit small DataFrames, because compiling and planning them takes longer than it saves. The test with a
# million messages uses the default settings.
INTERPRETED = {
    "spark.sql.codegen.wholeStage": "false",
    "spark.sql.codegen.factoryMode": "NO_CODEGEN",
    "spark.sql.shuffle.partitions": "2",
    "spark.sql.adaptive.enabled": "false",
    "spark.driver.extraJavaOptions": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC",
}


@pytest.fixture(scope="session")
def spark() -> Iterator[SparkSession]:
    session = open_session("local[2]", **INTERPRETED)
    try:
        yield session
    finally:
        session.stop()


def rows_of(frame: DataFrame, *columns: str) -> list[tuple[Any, ...]]:
    return sorted((tuple(row) for row in frame.select(*columns).collect()), key=repr)
