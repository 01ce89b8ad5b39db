"""Queen's application mode: a realistic workload that is sent faster than it is consumed, and then drained."""
