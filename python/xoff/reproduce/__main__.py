"""Records the verdicts of the quick variants: ``python -m xoff.reproduce``, or of some documents that are named."""

from __future__ import annotations

import sys

from xoff.reproduce.evaluation import record

if __name__ == "__main__":
    print(f"recorded the verdicts of the quick variants in {record(sys.argv[1:])}")
