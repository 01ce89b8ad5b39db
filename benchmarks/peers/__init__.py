"""Systems that Penstock is measured against, each startable without Docker."""
