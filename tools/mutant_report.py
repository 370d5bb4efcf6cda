"""Writes what became of the mutants: a table, the costs of tests, and few tests that together fail for every mutant."""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from pathlib import Path
from typing import Any


def write(out: Path) -> None:
    """Writes ``table.md``, ``costs.txt`` and ``cover.txt`` into the folder of the mutants."""
    mutants, tests, killed, rust = (
        json.loads((out / f"{name}.json").read_text("utf-8")) for name in ("mutants", "tests", "killed", "rust")
    )
    functions: dict[str, set[int]] = defaultdict(set)
    for number, result in killed.items():
        for failure in result["failures"]:
            functions[function_of(failure["test"])].add(int(number))
    costs: dict[str, float] = defaultdict(float)
    for test in tests:
        costs[function_of(test["test"])] += test["cpu"]
    (out / "table.md").write_text(_table(mutants, killed, rust), "utf-8")
    (out / "costs.txt").write_text(_costs(costs, functions), "utf-8")
    (out / "cover.txt").write_text(_cover(costs, functions), "utf-8")
    print(f"The tables are in {out}/table.md, costs.txt and cover.txt")


def function_of(test: str) -> str:
    """Returns a test without its parameters."""
    return test.partition("[")[0]


def _table(mutants: list[dict[str, Any]], killed: dict[str, Any], rust: dict[str, list[str]]) -> str:
    rows = [
        "| n | area | kind | place | function | line | mutant | first failing test | failing | CPU-s | Rust tests |",
        "|---|---|---|---|---|---|---|---|---|---|---|",
    ]
    areas: dict[str, Counter[str]] = defaultdict(Counter)
    for mutant in mutants:
        number = str(mutant["number"])
        result = killed.get(number, {"failures": [], "tests": 0, "cpu": 0})
        unit = [name for name in rust.get(number, []) if name not in rust.get("0", [])]
        first = min(result["failures"], key=lambda failure: failure["cpu_before"], default=None)
        what = f"`{first['test']}`" if first else "**none**"
        spent = f"{first['cpu_before']:.1f}" if first else f"({result['cpu']:.0f})"
        cells = [number, mutant["area"], mutant["kind"], f"{mutant['file']}:{mutant['line']}", mutant["function"]]
        cells += [f"`{mutant['original']}`", f"`{mutant['mutated']}`", what]
        cells += [f"{len(result['failures'])} of {result['tests']}", spent, f"{len(unit)}: {unit[0]}" if unit else "0"]
        rows.append("| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |")
        areas[mutant["area"]][_kind(first["test"]) if first else "survives"] += 1
        areas[mutant["area"]]["also Rust tests"] += bool(unit)
    names = sorted({name for counts in areas.values() for name in counts})
    rows += ["", "| area | " + " | ".join(names) + " |", "|---" * (len(names) + 1) + "|"]
    rows += [f"| {area} | " + " | ".join(str(counts[name]) for name in names) + " |" for area, counts in areas.items()]
    return "\n".join(rows) + "\n"


def _kind(test: str) -> str:
    file = Path(test.partition("::")[0])
    names = ("snapshots", "conformance", "reference", "fast_forward", "folding")
    return next((name for name in names if name in file.stem), file.parent.name)


def _costs(costs: dict[str, float], functions: dict[str, set[int]]) -> str:
    found = Counter(number for numbers in functions.values() for number in numbers)
    files: dict[str, float] = defaultdict(float)
    for function, cpu in costs.items():
        files[function.partition("::")[0]] += cpu
    rows = [f"# {sum(costs.values()) / 60:.1f} CPU-minutes", "# CPU-s  file"]
    rows += [f"{cpu:8.1f}  {file}" for file, cpu in sorted(files.items(), key=lambda item: -item[1])]
    rows += ["", "# CPU-s  mutants that fail  of these, only in this function  function"]
    for function, cpu in sorted(costs.items(), key=lambda item: -item[1]):
        numbers = functions.get(function, set())
        rows.append(f"{cpu:8.1f} {len(numbers):3} {sum(found[n] == 1 for n in numbers):3}  {function}")
    return "\n".join(rows) + "\n"


def _cover(costs: dict[str, float], functions: dict[str, set[int]]) -> str:
    """Chooses greedily: each time the function with the lowest cost per mutant that no chosen one has."""
    left = {number for numbers in functions.values() for number in numbers}
    rows, total = [], 0.0
    while left:
        best = min(
            (f for f in functions if functions[f] & left), key=lambda f: (costs[f] + 0.01) / len(functions[f] & left)
        )
        total += costs[best]
        rows.append(f"{costs[best]:8.2f} {total:8.2f}  {best}  {sorted(functions[best] & left)}")
        left -= functions[best]
    return "\n".join(["# CPU-s  sum  function  mutants", *rows]) + "\n"
