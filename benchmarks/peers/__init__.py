"""Systems with which Penstock is compared. Each can be started without Docker."""
