"""Runs the command line: `python -m penstock_metrics`."""

from .main import main

raise SystemExit(main())
