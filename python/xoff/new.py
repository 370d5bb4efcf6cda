"""``xoff new``."""


def create(kind: str, name: str) -> list[str]:
    """Todo."""
    raise NotImplementedError
