"""The child process of a measurement: simulates the scenario on standard input, and prints its cost."""

from xoff.bench.measure import child

if __name__ == "__main__":
    child()
