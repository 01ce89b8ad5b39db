"""Makes `python -m penstock_web.cli` the same as `penstock`."""

import sys

from . import main

sys.exit(main())
