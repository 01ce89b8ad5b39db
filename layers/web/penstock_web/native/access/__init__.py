"""Users and keys in the native REST API."""
