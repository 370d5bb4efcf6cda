"""The version of the package, which is the version of the compiled core, and the addresses that the package names."""

from pathlib import Path

from xoff import _core

__version__: str = _core.version()


def documentation() -> str:
    """Returns the address of the documentation that the package names, or the command that prints it."""
    return _addresses().get("Documentation", "xoff docs")


def schema_address() -> str:
    """Returns the address of the JSON Schema of scenarios that the package names, or the file of a checkout.

    The text is empty for an own build without either.
    """
    file = Path(__file__).resolve().parents[2] / "schema" / "scenario.schema.json"
    return _addresses().get("Schema", file.as_uri() if file.is_file() else "")


def _addresses() -> dict[str, str]:
    from importlib import metadata

    try:
        urls: list[str] = metadata.metadata("xoff").get_all("Project-URL") or []
    except metadata.PackageNotFoundError:
        urls = []
    return {name: address for name, _, address in (one.partition(", ") for one in urls)}
