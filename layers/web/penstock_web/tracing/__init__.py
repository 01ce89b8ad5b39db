"""Records the container's traces for an OpenTelemetry collector (docs/guides/tracing.md). The service imports this
package only with OTLP_ENABLED.
"""
