"""Figures of a study."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from xoff.study import Study


class StudyPlot:
    """The figures of one study, as ``study.plot``."""

    def __init__(self, study: Study) -> None:
        self._study = study
