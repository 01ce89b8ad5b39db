"""`python -m penstock_web.cli` is `penstock`."""

import sys

from . import main

sys.exit(main())
