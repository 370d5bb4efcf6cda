"""The version of the package, which is the version of the compiled core, and the address of the documentation."""

from xoff import _core

__version__: str = _core.version()


def documentation() -> str:
    """Returns the address of the documentation that the package names, or the place in the source."""
    from importlib import metadata

    try:
        urls: list[str] = metadata.metadata("xoff").get_all("Project-URL") or []
    except metadata.PackageNotFoundError:
        urls = []
    named: dict[str, str] = dict(one.partition(", ")[::2] for one in urls)
    return named.get("Documentation", "docs/index.md of the source")
