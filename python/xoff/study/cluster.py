"""Studies on a Dask cluster: the executor of a client, by the address or the file of the scheduler.

Dask gives a run whose worker died to another worker. Runs are independent and each is complete in the store or not
there, so that nothing is lost and nothing counts twice.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from concurrent.futures import Executor
from pathlib import Path

from xoff._core import InputError

_WAIT_SECONDS = 30


@contextlib.contextmanager
def connected(address: str) -> Iterator[Executor]:
    """Connect to a scheduler (``tcp://host:8786``, or its file) and return the executor of its workers."""
    try:
        from distributed import Client
    except ImportError:
        raise InputError('--dask: Dask is not installed; install it with: pip install "xoff[dask]"') from None
    file = Path(address)
    place = {"scheduler_file": str(file)} if file.is_file() else {"address": address}
    try:
        client = Client(**place, timeout=_WAIT_SECONDS, set_as_default=False)
    except (OSError, ValueError) as error:
        raise InputError(f"--dask: there is no scheduler at {address}: {error}") from None
    with client:
        yield client.get_executor()
