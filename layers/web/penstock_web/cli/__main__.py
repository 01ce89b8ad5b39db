"""Runs `penstock` for `python -m penstock_web.cli`."""

import sys

from . import main

sys.exit(main())
