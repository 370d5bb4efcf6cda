"""Records the verdicts of the quick variants, of all documents or of the named ones: ``python -m xoff.reproduce``."""

from __future__ import annotations

import sys

from xoff.reproduce.evaluation import record

if __name__ == "__main__":
    for file in record(sys.argv[1:]):
        print(f"recorded the verdicts of the quick variants in {file}")
