"""Traces of the container, for a collector of OpenTelemetry (docs/tracing.md). Imported only with OTLP_ENABLED."""
