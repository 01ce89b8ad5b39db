"""Records the container's traces for an OpenTelemetry collector (docs/guides/tracing.md). The service imports this
package only if OTLP_ENABLED is set.
"""
