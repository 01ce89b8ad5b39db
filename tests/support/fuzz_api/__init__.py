"""Requests at random over the REST API: Schemathesis reads the OpenAPI document of a real service and calls it."""
