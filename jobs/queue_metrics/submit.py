"""The program for spark-submit: `spark-submit --py-files queue_metrics.zip jobs/queue_metrics/submit.py`."""

from jobs.queue_metrics.main import main

if __name__ == "__main__":
    raise SystemExit(main())
