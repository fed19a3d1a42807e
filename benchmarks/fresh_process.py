"""Measurements that need a process of their own, because another one would have left its traces."""

from __future__ import annotations

import multiprocessing
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from typing import TypeVar

R = TypeVar("R")


def in_fresh_process(function: Callable[..., R], *args: object) -> R:
    """Call a function of a module in a new interpreter and return what it returns."""
    with ProcessPoolExecutor(1, mp_context=multiprocessing.get_context("spawn")) as pool:
        return pool.submit(function, *args).result()
