"""The benchmark: simulation speed in data packet-hops per CPU-second, and memory."""
