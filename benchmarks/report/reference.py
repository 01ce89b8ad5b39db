"""Holds the peers' figures on the machine for which the goals were set. See docs/explain/benchmarks.md.

Machines differ, and some programs slow down more than others on a slower machine. A goal is therefore transferred as
a multiple of a peer's figure in the same run: `Penstock : peer` on this machine may be what `goal : peer` was on that
machine.
"""

from typing import Final

CPU, P50 = "server_cpu_seconds_per_1000", "p50_ms"

# Maps a scenario to (the figure's name, peer -> its median on that machine).
REFERENCE: Final[dict[str, tuple[str, dict[str, float]]]] = {
    "send_1": (CPU, {
        "pgmq": 0.090, "procrastinate": 0.457, "pgqueuer": 0.368, "bullmq": 0.050, "rabbitmq-classic": 0.102,
        "rabbitmq-quorum": 0.076, "fauxqs": 0.028, "fauxqs-sqlite": 0.126, "moto": 8.8,
    }),
    "send_10": (CPU, {
        "pgmq": 0.015, "procrastinate": 0.098, "pgqueuer": 0.057, "bullmq": 0.037, "rabbitmq-classic": 0.039,
        "rabbitmq-quorum": 0.019, "fauxqs": 0.005, "fauxqs-sqlite": 0.070, "moto": 8.5,
    }),
    "warski": (CPU, {"fauxqs": 0.025, "fauxqs-sqlite": 0.183, "moto": 9.4}),
    "receive_delete_10": (CPU, {
        "pgmq": 0.063, "rabbitmq-classic": 0.021, "rabbitmq-quorum": 0.009, "fauxqs": 0.016, "fauxqs-sqlite": 0.131,
        "moto": 7.0,
    }),
    "receive_delete_1": (CPU, {"pgmq": 0.466, "fauxqs": 0.046}),
    "idle_latency": (P50, {"rabbitmq-classic": 0.60, "fauxqs": 0.43, "fauxqs-sqlite": 0.74, "moto": 2.9}),
}  # fmt: skip
