"""How fast xoff simulates, counted in data packet-hops per CPU-second, and how much memory it takes."""
