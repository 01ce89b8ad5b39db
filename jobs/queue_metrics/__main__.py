"""`python -m jobs.queue_metrics`."""

from .main import main

raise SystemExit(main())
