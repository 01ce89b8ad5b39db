"""A session of Spark, on this machine unless spark-submit or `--master` says otherwise."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Final

from pyspark.sql import SparkSession

from penstock_web.local.state import cache_directory

from .java import java_home

ROOT: Final = Path(__file__).parents[2]
LOCAL: Final = "local[*]"
SETTINGS: Final = {
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "true" if sys.stderr.isatty() else "false",
    "spark.sql.session.timeZone": "UTC",
    "spark.sql.execution.arrow.pyspark.enabled": "false",  # it would need pandas
    "spark.sql.shuffle.partitions": "16",
    "spark.driver.memory": "2g",
    "spark.speculation": "false",  # a piece would be written twice: right, but for nothing
}


def open_session(master: str | None = None, jars: str = "", **more: str) -> SparkSession:
    """The session. `master`: None leaves it to spark-submit, or is this machine. Raises NoJavaError."""
    if not submitted():
        prepare_environment()
        master = master or LOCAL
    builder = SparkSession.builder.appName("penstock queue_metrics")
    if master:
        builder = builder.master(master)
    for name, value in {**defaults(), **({"spark.jars": jars} if jars else {}), **more}.items():
        builder = builder.config(name, value)
    session = builder.getOrCreate()
    session.sparkContext.setLogLevel("ERROR")
    return session


def submitted() -> bool:
    """Whether spark-submit started this process, with an environment and settings of its own."""
    return "PYSPARK_GATEWAY_PORT" in os.environ


def defaults() -> dict[str, str]:
    """Settings of Spark; those of spark-submit win."""
    given = dict(pair.split("=", 1) for pair in os.environ.get("PENSTOCK_SPARK", "").split() if "=" in pair)
    return {**SETTINGS, **given}


def prepare_environment() -> None:
    """What the JVM and the Python processes that it starts find in their environment."""
    home = java_home(os.environ, cache_directory())
    if home:
        os.environ["JAVA_HOME"] = home
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    os.environ.setdefault("SPARK_LOCAL_IP", "127.0.0.1")
    paths = [str(ROOT), *filter(None, [os.environ.get("PYTHONPATH")])]
    os.environ["PYTHONPATH"] = os.pathsep.join(dict.fromkeys(paths))
