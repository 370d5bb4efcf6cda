"""Misses of the last cache, counted by the processor if the system permits (Linux, `perf_event_open`)."""

from __future__ import annotations

import ctypes
import os
import platform
import struct
import sys
from types import TracebackType
from typing import Self

_NUMBERS = {"x86_64": 298, "aarch64": 241}
# Types and events of perf_event.h: counted by the processor, and by the kernel.
CACHE_MISSES = (0, 3)
PAGE_FAULTS = (1, 2)
# Includes threads that begin later; only code outside the kernel.
_INHERIT, _WITHOUT_KERNEL, _WITHOUT_HYPERVISOR = 1 << 1, 1 << 5, 1 << 6
# Times enabled and running: an event may have to share the processor's counters.
_TIMES = 0b11
# The first version of `perf_event_attr`, which every kernel accepts.
_ATTRIBUTES = struct.Struct("=IIQQQQQIIQ")


class Counter:
    """Counts an event in this process from enter to exit; `count` stays None if the system cannot count."""

    def __init__(self, event: tuple[int, int] = CACHE_MISSES) -> None:
        self._event = event
        self._file: int | None = None
        self.count: int | None = None

    def __enter__(self) -> Self:
        number = _NUMBERS.get(platform.machine())
        if sys.platform != "linux" or number is None:
            return self
        kind, config = self._event
        flags = _INHERIT | _WITHOUT_KERNEL | _WITHOUT_HYPERVISOR
        attributes = _ATTRIBUTES.pack(kind, _ATTRIBUTES.size, config, 0, 0, _TIMES, flags, 0, 0, 0)
        call = ctypes.CDLL(None, use_errno=True).syscall
        call.restype = ctypes.c_long
        arguments = (ctypes.c_int(0), ctypes.c_int(-1), ctypes.c_int(-1), ctypes.c_ulong(0))
        file = call(ctypes.c_long(number), ctypes.c_char_p(attributes), *arguments)
        self._file = None if file < 0 else int(file)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._file is None:
            return
        try:
            count, wanted, counted = struct.unpack("=QQQ", os.read(self._file, 24))
        except OSError:
            return
        finally:
            os.close(self._file)
        if counted:
            self.count = round(count * wanted / counted)
