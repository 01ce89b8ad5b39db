"""Mobile apps: platform applications and their endpoints."""
