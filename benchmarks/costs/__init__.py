"""Programs that measure the processor time or latency of single parts; each file is a program of its own."""
