"""`python -m infra.site`: builds the site, and prints its size. Ends with 1 if a link leads nowhere."""

import sys
from pathlib import Path

from .build import SiteError, build_site

try:
    archive = build_site(Path(__file__).parents[2])
except SiteError as error:
    sys.exit(str(error))
print(f"{archive}: {archive.stat().st_size / 1e6:.1f} MB")
