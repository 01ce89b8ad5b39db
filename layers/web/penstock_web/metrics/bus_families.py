"""Lists the metrics of event buses and their subscribers, which `queue.measure_event_buses` measures."""

from typing import Final

from .family import Family

BUS_READINGS: Final[dict[str, tuple[Family, str]]] = {
    "bus_published": (
        Family("penstock_bus_events_published_total", "counter", "Events that the event bus has stored."),
        "bus",
    ),
    "bus_events": (Family("penstock_bus_events", "gauge", "Events that the event bus retains."), "bus"),
    "bus_bytes": (Family("penstock_bus_bytes", "gauge", "Bytes of the events that the event bus retains."), "bus"),
    "bus_subscribers": (Family("penstock_bus_subscribers", "gauge", "Subscribers of the event bus."), "bus"),
    "subscriber_delivered": (
        Family("penstock_subscriber_events_delivered_total", "counter", "Events that the target has accepted."),
        "bus subscriber",
    ),
    "subscriber_refused": (
        Family("penstock_subscriber_events_refused_total", "counter", "Attempts that the target has refused."),
        "bus subscriber",
    ),
    "subscriber_failed": (
        Family("penstock_subscriber_events_failed_total", "counter", "Events whose delivery ended without success."),
        "bus subscriber",
    ),
    "subscriber_waiting": (
        Family("penstock_subscriber_events_waiting", "gauge", "Events that are read and not delivered, up to 10,001."),
        "bus subscriber",
    ),
    "subscriber_lag": (
        Family("penstock_subscriber_lag_events", "gauge", "Events that are not read or not delivered."),
        "bus subscriber",
    ),
    "subscriber_lag_seconds": (
        Family(
            "penstock_subscriber_lag_seconds",
            "gauge",
            "Time since the bus received the first event that is not read or not delivered.",
        ),
        "bus subscriber",
    ),
}
"""Maps names of measurements to their metrics and the names of their labels."""
