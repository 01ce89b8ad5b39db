"""Runs benchmarks.run for `python -m benchmarks`."""

from .run import main

raise SystemExit(main())
