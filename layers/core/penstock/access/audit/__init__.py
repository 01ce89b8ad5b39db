"""Records user actions and refused requests for the audit log."""
