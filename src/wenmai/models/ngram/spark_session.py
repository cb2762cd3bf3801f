"""Spark, quietly: the session that runs already, or one of our own on this machine or where the user says."""

from __future__ import annotations

import importlib
import os
import shutil
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from wenmai.data.storage.threads import threads
from wenmai.errors import Mistake
from wenmai.training.interrupts import uninterrupted

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

QUIET = Path(__file__).with_name("log4j2.properties")


def needed(package: str) -> None:
    try:
        importlib.import_module(package)
    except ImportError:
        raise Mistake(
            "Spark needs the package {package}; run pip install 'wenmai[spark]'.", package=package
        ) from None


@contextmanager
def session(master: str | None = None) -> Iterator[SparkSession]:
    """The one that runs already, or our own, which is stopped at the end."""
    needed("pyspark")
    from pyspark.errors import PySparkRuntimeError
    from pyspark.sql import SparkSession

    running = SparkSession.getActiveSession()
    if running is not None:
        yield running
        return
    if not shutil.which("java") and not shutil.which(
        "java", path=os.path.join(os.environ.get("JAVA_HOME", ""), "bin")
    ):
        raise Mistake(
            "Spark needs a Java runtime, and there is no java here; install one (17 or newer), or set JAVA_HOME."
        )
    for name in ("PYSPARK_PYTHON", "PYSPARK_DRIVER_PYTHON"):
        os.environ.setdefault(name, sys.executable)
    chosen = any(os.environ.get(name) for name in ("SPARK_CONF_DIR", "PYSPARK_SUBMIT_ARGS"))
    master = master or os.environ.get("SPARK_MASTER") or (None if chosen else f"local[{threads()}]")
    builder = SparkSession.builder.appName("wenmai").config("spark.ui.enabled", "false")
    builder = builder.config("spark.ui.showConsoleProgress", "false").config(
        "spark.driver.maxResultSize", "0"
    )
    if master:
        builder = builder.master(master)
    if not chosen:
        builder = builder.config(
            "spark.driver.extraJavaOptions", f"-Dlog4j2.configurationFile={QUIET.as_uri()}"
        )
    if master and master.startswith("local"):
        builder = builder.config("spark.driver.bindAddress", "127.0.0.1").config(
            "spark.driver.host", "127.0.0.1"
        )
        builder = builder.config("spark.executorEnv.PYTHONPATH", str(Path(__file__).parents[3]))
    spark = None
    try:
        try:
            with uninterrupted():  # Java whose start is cut in two lives on for ever, and holds what the command writes to
                spark = builder.getOrCreate()
        except PySparkRuntimeError as error:
            raise Mistake(
                "Spark did not start ({error}); see what Java says above, and whether it is 17 or newer.",
                error=error,
            ) from None
        yield spark
    finally:
        if spark is not None:
            spark.stop()
