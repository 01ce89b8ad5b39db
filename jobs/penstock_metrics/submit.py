"""Runs the job under spark-submit: `spark-submit --py-files penstock_metrics.zip jobs/penstock_metrics/submit.py`."""

from .main import main

if __name__ == "__main__":
    raise SystemExit(main())
