"""Builds the site and prints its size: `python -m infra.site`. Exits with 1 if a link has no target."""

import sys
from pathlib import Path

from .build import SiteError, build_site

try:
    archive = build_site(Path(__file__).parents[2])
except SiteError as error:
    sys.exit(str(error))
print(f"{archive}: {archive.stat().st_size / 1e6:.1f} MB")
