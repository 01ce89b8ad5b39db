"""Opens a Spark session on this machine, unless spark-submit or `--master` names another master."""

from __future__ import annotations

import atexit
import os
import shutil
import sys
import tempfile
from pathlib import Path
from typing import Final

from pyspark.sql import SparkSession

from penstock_web.local.state import cache_directory

from .java import find_java_home
from .package import list_folders, write_package

LOCAL: Final = "local[*]"
# The job needs these settings, also under spark-submit. spark-submit decides all other settings.
REQUIRED_SETTINGS: Final = {
    "spark.sql.session.timeZone": "UTC",
    "spark.sql.execution.arrow.pyspark.enabled": "false",  # "true" would need pandas.
}
DEFAULT_SETTINGS: Final = {
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "true" if sys.stderr.isatty() else "false",
    "spark.sql.shuffle.partitions": "16",
    "spark.driver.memory": "2g",
    # Stored rows are arrays of slightly more than 1 MiB. With G1 and a heap of 2 GiB, each array would take two
    # regions.
    "spark.driver.extraJavaOptions": "-XX:+UseParallelGC",
}


def open_session(master: str | None = None, jars: str = "", **more: str) -> SparkSession:
    """Returns a session on `master`, the master of spark-submit, or this machine. Raises NoJavaError."""
    settings = dict(more)
    if not was_submitted():
        prepare_environment()
        settings = DEFAULT_SETTINGS | {"spark.master": master or LOCAL} | more
    if jars:
        settings["spark.jars"] = jars
    builder = SparkSession.builder.appName("penstock queue_metrics")
    for name, value in settings.items():
        builder = builder.config(name, value)
    session = builder.getOrCreate()
    for name, value in REQUIRED_SETTINGS.items():
        session.conf.set(name, value)
    session.sparkContext.setLogLevel("ERROR")
    if not was_submitted() and not str(session.sparkContext.master).startswith("local"):
        send_code(session)
    return session


def was_submitted() -> bool:
    """Returns whether spark-submit started this process, with its environment and settings."""
    return "PYSPARK_GATEWAY_PORT" in os.environ


def send_code(session: SparkSession) -> None:
    """Sends the job's modules to executors on other machines. Under spark-submit, --py-files sends the modules."""
    folder = tempfile.mkdtemp(prefix="penstock-metrics-")
    # Executors fetch the archive from this folder until the process exits.
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    session.sparkContext.addPyFile(str(write_package(Path(folder) / "penstock_metrics.zip")))


def prepare_environment() -> None:
    """Sets environment variables for the JVM and for the Python processes that the JVM starts."""
    home = find_java_home(os.environ, cache_directory())
    if home:
        os.environ["JAVA_HOME"] = home
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    os.environ.setdefault("SPARK_LOCAL_IP", "127.0.0.1")
    paths = [*(str(folder.parent) for folder in list_folders()), *filter(None, [os.environ.get("PYTHONPATH")])]
    os.environ["PYTHONPATH"] = os.pathsep.join(dict.fromkeys(paths))
