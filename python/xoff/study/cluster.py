"""Studies on a Dask cluster: the executor of a client, by the address or the file of the scheduler.

Dask gives the run of a failed worker to another worker. Runs are independent, and each is either complete in the store
or absent, so that no run is lost and no run counts twice.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable, Iterator
from concurrent.futures import Executor, Future
from pathlib import Path
from typing import Any

from xoff._core import InputError

_WAIT_SECONDS = 30


@contextlib.contextmanager
def connected(address: str) -> Iterator[Executor]:
    """Connects to a scheduler (``tcp://host:8786``, or its file) and yields the executor of its workers.

    Raises `InputError` if Dask is not installed, or no scheduler answers.
    """
    try:
        from distributed import Client
    except ImportError:
        raise InputError('--dask: Dask is not installed; install it with: pip install "xoff[dask]"') from None
    file = Path(address)
    place = {"scheduler_file": str(file)} if file.is_file() else {"address": address}
    try:
        client = Client(**place, timeout=_WAIT_SECONDS, set_as_default=False)
    except (OSError, ValueError) as error:
        raise InputError(f"--dask: no scheduler at {address}: {error}") from None
    with client:
        yield _Workers(client)


class _Workers(Executor):
    """The workers of a Dask cluster.

    Dask's own executor asks for the status of a task after its result. If the worker with the result is lost in
    between, it reports an error. This executor asks only for the result.
    """

    def __init__(self, client: Any) -> None:
        self._client = client

    def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
        remote = self._client.submit(fn, *args, **kwargs, pure=False)
        # As Dask's executor, but with exceptions: a lost result is computed again and waited for. Dask's public
        # callbacks (`Future.add_done_callback`) left a study waiting for ever in one of ten cases.
        local: Future[Any] = asyncio.run_coroutine_threadsafe(remote._result(), self._client.loop.asyncio_loop)
        local.add_done_callback(lambda _: remote.cancel() if local.cancelled() else None)
        return local
