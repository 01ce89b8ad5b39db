"""Records traces of the container for a collector of OpenTelemetry (docs/tracing.md). It is imported only with
OTLP_ENABLED."""
