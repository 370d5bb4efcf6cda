"""Records the verdicts of the quick variants: ``python -m xoff.reproduce``."""

from __future__ import annotations

from xoff.reproduce.evaluation import record

if __name__ == "__main__":
    print(f"recorded the verdicts of the quick variants in {record()}")
