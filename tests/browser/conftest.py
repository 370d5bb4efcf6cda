"""What the tests in a browser share: the browser."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from chromium import Browser


@pytest.fixture(scope="module")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Browser]:
    with Browser(tmp_path_factory.mktemp("profile")) as one:
        yield one
