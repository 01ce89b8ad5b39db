"""Runs the job under spark-submit: `spark-submit --py-files penstock_metrics.zip jobs/penstock_metrics/submit.py`.

Spark runs this file as a script, so its import is absolute.
"""

from penstock_metrics.main import main

if __name__ == "__main__":
    raise SystemExit(main())
