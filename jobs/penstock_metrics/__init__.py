"""Metrics of queues from their history, on PySpark: `python -m penstock_metrics`, or `make metrics`.

    main         the command line; one shot or continuous
    span         the days that are computed, and their calendar
    run          one run: reads, computes, writes
    continuous   a run again whenever messages were recorded, and each interval
    spark/       Java, a session of Spark, the code for executors
    database/    address, snapshot, read (by Arrow: source, or by JDBC), write (replaces windows), runs (their record)
    transforms/  counts of windows (events), depth (occupancy), latency: DataFrame -> DataFrame; forecasts/
    output/      what was stored, as Parquet files and Iceberg tables

docs/metrics.md explains the figures, docs/decisions/0009-spark-pipeline.md the design.
"""
