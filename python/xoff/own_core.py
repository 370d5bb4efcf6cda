"""The core with plug-ins of this environment, in the place of the core of the package.

``xoff plugins build`` writes the core, and a file that identifies the core of the package. After an upgrade of xoff the
core with plug-ins is out of date, and left out until the next build.
"""

from __future__ import annotations

import importlib.util
import json
import os
import sys
from pathlib import Path
from typing import Any

CORE = "_core.abi3.so"
MANIFEST = "core.json"
_PLACE = "XOFF_PLUGINS"


def place() -> Path:
    """Returns the folder of the core with plug-ins: ``$XOFF_PLUGINS``, or a folder of the environment."""
    return Path(os.environ.get(_PLACE) or Path(sys.prefix, "share", "xoff", "plugins"))


def beside() -> list[int]:
    """Returns the identity of the core of the package: size, and time of the last change in nanoseconds."""
    found = [file for file in Path(__file__).parent.glob("_core.*") if file.suffix in {".so", ".pyd"}]
    return [number for file in sorted(found) for number in (file.stat().st_size, file.stat().st_mtime_ns)]


def manifest() -> dict[str, Any]:
    """Returns what the core with plug-ins was built of; empty without such a core."""
    try:
        found = json.loads((place() / MANIFEST).read_text("utf-8"))
    except (OSError, ValueError):
        return {}
    return found if isinstance(found, dict) else {}


def is_current() -> bool:
    """Whether the core was built beside the core of the package; null says a core for itself (``make try``)."""
    found = manifest()
    return "beside" in found and found["beside"] in (None, beside())


def use() -> None:
    """Loads the core with plug-ins as ``xoff._core``, if the environment has a current one."""
    folder = place()
    if "xoff._core" in sys.modules or not (folder / MANIFEST).is_file() or not is_current():
        return
    spec = importlib.util.spec_from_file_location("xoff._core", folder / CORE)
    if spec is None or spec.loader is None:
        return
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    sys.modules["xoff._core"] = module
