"""The benchmarks run and print each figure beside its target. What they measure is for people to judge."""

from __future__ import annotations

from docs.documents import ROOT, run_module


def test_the_benchmarks_that_are_named_run_and_print_a_table() -> None:
    ran = run_module("benchmarks", "calibration", "tools", "--rounds", "1", cwd=ROOT)

    assert ran.returncode == 0, ran.stderr
    assert "bare asyncio: one task and one timer" in ran.stdout
    assert "20 async tools of 50 ms in one turn" in ran.stdout
    assert "≤ 55" in ran.stdout
    assert "of 2 targets met." in ran.stdout


def test_an_unknown_benchmark_is_refused_with_the_names_there_are() -> None:
    ran = run_module("benchmarks", "turn", cwd=ROOT)

    assert ran.returncode == 2
    assert "there is no benchmark named 'turn'; there are: calibration, machine, turns" in ran.stderr
