"""Builds the documentation site: `make site` runs `python -m infra.site`.

    docs/*.md, CHANGELOG.md, …  ─┐
    reference pages from code   ─┴─► build/site-…/pages ──zensical──► build/site-…/html ──► build/site.zip

Each build has a temporary folder, so several builds can run at once. names.py links commands and SQL functions to their
entries in the reference. zensical.toml has the sections and their order.

`make dist` adds the archive to the wheel, and the service serves the pages at /docs
(penstock_web/console/documentation.py).
"""
