"""What one process of a measurement does: simulate what stands on standard input, and say what it cost."""

from xoff.bench.measure import child

if __name__ == "__main__":
    child()
