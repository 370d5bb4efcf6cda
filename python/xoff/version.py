"""The version of the package, which is the version of the compiled core."""

from xoff import _core

__version__: str = _core.version()
