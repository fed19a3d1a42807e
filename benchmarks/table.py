"""Figures as a table for the terminal."""

from __future__ import annotations

from collections.abc import Iterable

from benchmarks.figure import Figure, plain

_NAME, _VALUE, _UNIT, _TARGET = 64, 8, 8, 9


def header() -> str:
    titles = f"{'figure':<{_NAME}}{'measured':>{_VALUE}} {'unit':<{_UNIT}}{'target':>{_TARGET}}"
    return f"{titles}\n{'─' * (len(titles) + 8)}"


def line(figure: Figure) -> str:
    target = "" if figure.target is None else str(figure.target)
    text = f"{figure.name:<{_NAME}}{plain(figure.value):>{_VALUE}} {figure.unit:<{_UNIT}}{target:>{_TARGET}}"
    return f"{text}  {figure.verdict}".rstrip()


def summary(figures: Iterable[Figure]) -> str:
    judged = [figure for figure in figures if figure.target is not None]
    missed = sum(figure.verdict == "MISSED" for figure in judged)
    return f"{len(judged) - missed} of {len(judged)} targets met."
