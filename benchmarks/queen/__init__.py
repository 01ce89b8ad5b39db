"""Queen's application mode: a realistic workload that is pushed faster than it is consumed, and then drained."""
