"""Records traces of the container for a collector of OpenTelemetry (docs/guides/tracing.md). The service imports this
package only if OTLP_ENABLED is set.
"""
