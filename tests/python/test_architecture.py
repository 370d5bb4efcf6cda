"""Statements of ARCHITECTURE.md that a program can check."""

from __future__ import annotations

import ast
import re
import tomllib
from collections.abc import Iterator
from graphlib import TopologicalSorter
from itertools import pairwise
from pathlib import Path

import pytest

import xoff
from xoff.commands import registry

ROOT = Path(__file__).resolve().parents[2]
PAGE = (ROOT / "ARCHITECTURE.md").read_text("utf-8")
GENERATED = {ROOT / "python/xoff" / name for name in ("scenario.py", "summary.py")}
CRATES = ("units", "engine", "models", "applications", "document", "scenario", "python", "wasm")


def rust() -> list[Path]:
    return sorted(ROOT.glob("crates/*/src/**/*.rs"))


def product() -> list[Path]:
    return sorted(set((ROOT / "python/xoff").rglob("*.py")) - GENERATED)


def python() -> list[Path]:
    return [*product(), *sorted((ROOT / "experiments/xoff_experiments").rglob("*.py"))]


def code(path: Path) -> list[str]:
    """Returns the lines of a Rust file before its tests."""
    lines = path.read_text("utf-8").splitlines()
    return lines[: lines.index("mod tests {")] if "mod tests {" in lines else lines


def test_it_is_read_in_ten_minutes() -> None:
    assert len(PAGE.split()) <= 1_500


def test_every_path_that_it_names_is_there() -> None:
    named = set(re.findall(r"`((?:crates|python|experiments|tests|docs)/[\w/.-]+)`", PAGE)) | set(
        re.findall(r"\bdocs/[\w/-]+\.md", PAGE)
    )
    assert len(named) > 30
    assert [path for path in sorted(named) if not (ROOT / path).exists()] == []


@pytest.mark.parametrize("page", ["ARCHITECTURE.md", "CONTRIBUTING.md"])
def test_every_name_of_the_code_that_it_uses_is_one(page: str) -> None:
    """CamelCase words and calls, as written in Rust."""
    files = [*rust(), *python(), *(ROOT / "tests").rglob("*.py")]
    source = "\n".join(path.read_text("utf-8") for path in files)
    names = set(re.findall(r"`(\w+(?:(?:::|\.)\w+)*!?)`", (ROOT / page).read_text("utf-8")))
    # Placeholders of recipes, and files, which are looked for below.
    names = {
        name
        for name in names
        if not re.search(r"^(xoff|SLUG|KIND|NAME|DOCUMENT|XOFF_\w+|vX\..*)$|SLUG|\.(rs|py)$", name)
    }
    names = {name for name in names if re.search(r"[A-Z]|::|!|_", name)}
    parts = {part for name in names for part in re.split(r"::|\.", name.rstrip("!"))}
    missing = [name for name in sorted(parts) if not re.search(rf"\b{name}\b", source)]
    assert [name for name in missing if not hasattr(xoff, name)] == []


def test_files_that_contributors_are_sent_to_are_there() -> None:
    page = (ROOT / "CONTRIBUTING.md").read_text("utf-8")
    folders = ("crates", "python", "experiments", "tests", "tools")
    files = [file for folder in folders for end in ("rs", "py") for file in (ROOT / folder).rglob(f"*.{end}")]
    known = [f"/{path.relative_to(ROOT)}" for path in files]
    named = {name for name in re.findall(r"`([\w/]+\.(?:rs|py))`", page) if not re.search("DOCUMENT|SLUG", name)}
    assert len(named) > 30
    assert [name for name in sorted(named) if not any(path.endswith(f"/{name}") for path in known)] == []


def test_a_crate_knows_those_to_its_left() -> None:
    for place, crate in enumerate(CRATES):
        table = tomllib.loads((ROOT / "crates" / crate / "Cargo.toml").read_text("utf-8"))
        used = {name.removeprefix("xoff-") for name in table["dependencies"] if name.startswith("xoff-")}
        assert used <= set(CRATES[:place]), crate
    lints = tomllib.loads((ROOT / "Cargo.toml").read_text("utf-8"))["workspace"]["lints"]["rust"]
    assert lints["unsafe_code"] == "forbid"


def test_the_package_knows_no_experiment_and_the_engine_no_packet() -> None:
    """The package finds experiments by entry points: no import and no name in the code leads to a module of theirs."""
    naming = []
    for path in product():
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
            names += [node.module or ""] if isinstance(node, ast.ImportFrom) else []
            names += [node.value] if isinstance(node, ast.Constant) and isinstance(node.value, str) else []
            naming += [str(path) for name in names if re.match(r"xoff_experiments(\.|$)", name)]
    assert naming == []
    engine = "\n".join("\n".join(code(path)) for path in rust() if "engine" in path.parts)
    assert not re.search(r"\b(Packet|Queue|Port|Switch|Pause)\b", engine)


def imports(path: Path, modules: dict[str, Path]) -> set[str]:
    """Returns the modules of the package that a module imports on loading."""
    found: set[str] = set()
    waiting: list[ast.AST] = [ast.parse(path.read_text("utf-8"))]
    while waiting:
        node = waiting.pop()
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            continue
        if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING":
            continue
        if isinstance(node, ast.Import):
            found.update(alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            whole = {f"{node.module}.{alias.name}" for alias in node.names}
            found.update(whole & set(modules) or {node.module})
        waiting.extend(ast.iter_child_nodes(node))
    return found & set(modules)


def test_no_import_in_a_circle() -> None:
    names = {
        ".".join(path.relative_to(root).with_suffix("").parts).removesuffix(".__init__"): path
        for path in python()
        for root in (ROOT / "python", ROOT / "experiments")
        if path.is_relative_to(root)
    }
    graph = {name: around(name, imports(path, names)) - {name} for name, path in names.items()}
    list(TopologicalSorter(graph).static_order())


def around(name: str, found: set[str]) -> set[str]:
    """Returns imported modules and the packages around them, which load first. Those around `name` are loaded."""
    packages = {one.rsplit(".", depth)[0] for one in found for depth in range(1, one.count(".") + 1)}
    return found | {one for one in packages if not name.startswith(f"{one}.")}


def test_the_root_of_the_package_has_what_users_import() -> None:
    """Everything else is in a folder for its topic: a folder is a concept, and so is the name of a new one."""
    imported = {"__init__", "__main__", "display", "nccl", "scenario", "summary"}
    # What all folders use: numbers as text, the compiled core, and the version.
    shared = {"formatting", "own_core", "version"}
    assert {path.stem for path in (ROOT / "python/xoff").glob("*.py")} == imported | shared


def test_every_command_is_in_one_folder_and_one_list() -> None:
    folder = ROOT / "python/xoff/commands"
    shared = {"__init__", "completion", "failures", "options", "registry"}
    files = {path.stem.rstrip("_").replace("_", "-") for path in folder.glob("*.py") if path.stem not in shared}
    assert sorted(registry.COMMANDS) == sorted(files)
    naming = [path for path in product() if re.search("^(import|from) typer", path.read_text("utf-8"), re.M)]
    assert [path for path in naming if path.parent != folder] == []


def used_paths(text: str, children: set[str]) -> Iterator[list[str]]:
    """Yields the paths that a module names: in `use` trees, inline, and of its children."""
    waiting = [re.sub(r"\s+", "", tree) for tree in re.findall(r"\buse ((?:crate|super|self)::[^;]+);", text)]
    while waiting:
        tree = waiting.pop()
        head, brace, rest = tree.partition("{")
        if not brace:
            yield tree.split("::")
            continue
        depth, start = 0, 0
        for at, sign in enumerate(rest):
            depth += {"{": 1, "}": -1}.get(sign, 0)
            if (sign == "," and depth == 0) or depth < 0:
                waiting.append(head + rest[start:at])
                start = at + 1
    rest = re.sub(r"\buse [^;]+;", "", text)
    yield from (path.split("::") for path in re.findall(r"\b((?:crate|super|self)(?:::\w+)+)", rest))
    yield from (["self", child] for child in children if re.search(rf"(?<![:\w]){child}::", text))


def module_graph(source: Path) -> dict[str, set[str]]:
    """Returns for each module of a crate the modules that it names.

    A registry names its parts in a macro, and the parts name the contract in the registry's file: no arrow leads to a
    part.
    """
    paths = [path for path in rust() if path.is_relative_to(source) and path.name not in {"lib.rs", "tests.rs"}]
    names = {"::".join(path.relative_to(source).with_suffix("").parts).removesuffix("::mod"): path for path in paths}
    graph: dict[str, set[str]] = {}
    for name, path in names.items():
        text = re.sub("//.*", "", "\n".join(code(path)))
        children = set(re.findall(r"^\s*(?:pub(?:\([^)]*\))? )?mod (\w+);", text, re.M))
        graph[name] = set()
        for first, *steps in used_paths(text, children):
            at = {"crate": [], "self": name.split("::")}.get(first, name.split("::")[:-1])
            while steps and steps[0] == "super":
                at, steps = at[:-1], steps[1:]
            whole = [*at, *steps]
            while whole and "::".join(whole) not in names:
                whole.pop()
            graph[name].add("::".join(whole))
        graph[name] -= {"", name}
    return graph


def test_no_module_in_a_circle() -> None:
    """In a crate, a module depends on the modules it names, and so does a module on its children."""
    for crate in CRATES:
        graph = module_graph(ROOT / "crates" / crate / "src")
        list(TopologicalSorter(graph).static_order())


def test_a_module_with_a_folder_stands_in_the_folder() -> None:
    """One module style: `pfc/mod.rs`, and never `pfc.rs` beside `pfc`."""
    assert [path for path in rust() if path.with_suffix("").is_dir()] == []


def test_files_and_functions_are_short() -> None:
    long = {str(path): len(code(path)) for path in rust() if len(code(path)) > 700}
    long |= {str(path): n for path in python() if (n := len(path.read_text("utf-8").splitlines())) > 700}
    assert long == {}
    functions = {}
    for path in python():
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                functions[f"{path}:{node.name}"] = (node.end_lineno or 0) - node.lineno + 1
    for path in rust():
        lines = code(path)
        for at, line in enumerate(lines):
            start = re.match(r"(\s*)(?:pub(?:\([^)]*\))? )?(?:const )?fn (\w+)", line)
            # Single-line declarations and functions end with the line.
            if start and not line.endswith((";", "}")):
                functions[f"{path}:{start[2]}"] = lines[at:].index(start[1] + "}") + 1
    assert {name: n for name, n in functions.items() if n > 80} == {}


def test_clocks_are_in_one_module() -> None:
    """Only `clock.rs` reads a clock: WebAssembly has none."""
    reads = re.compile(r"\bcpu_time::|\btime::(?:Instant|SystemTime)\b|\btime::\{[^}]*\b(?:Instant|SystemTime)\b")
    found = {path for path in rust() if reads.search(path.read_text("utf-8"))}
    assert found == {ROOT / "crates/engine/src/clock.rs"}


def test_the_word_unsafe_stands_at_one_border() -> None:
    """The core has no unsafe code. The border of WebAssembly has attributes with the word, and no unsafe body."""
    found = {path for path in rust() if re.search(r"^[^/]*\bunsafe\b(?!_)", path.read_text("utf-8"), re.M)}
    border = ROOT / "crates/wasm/src/border.rs"
    assert found == {border}
    assert not re.search(r"\bunsafe (?:\{|fn\b)", border.read_text("utf-8"))


PREDICATE = r"(?:is|has|was|can|may|does|holds|waits|needs|wants|knows)(?:_\w+)?"


def test_no_predicate_acts() -> None:
    """A function named as a question changes nothing, and takes no `&mut self`."""
    acting = [
        f"{path.relative_to(ROOT)}: {name}"
        for path in rust()
        for name in re.findall(rf"\bfn ({PREDICATE})(?:<[^>]*>)?\(\s*&mut self", "\n".join(code(path)))
    ]
    # A walk of fast-forward that asks about a field is a declaration: the walk records the field.
    assert [one for one in acting if not one.startswith("crates/engine/src/state")] == []


def test_a_file_says_what_it_is_for() -> None:
    silent = [path for path in rust() if not path.read_text("utf-8").startswith("//! ") and path.name != "tests.rs"]
    for path in python():
        text = path.read_text("utf-8")
        if text.strip() and not ast.get_docstring(ast.parse(text)):
            silent.append(path)
    assert silent == []


def rows(head: str) -> list[str]:
    """The first cells of a table."""
    lines = PAGE.splitlines()
    start = next(n for n, line in enumerate(lines) if line.startswith(f"| {head} |")) + 2
    end = next(n for n in range(start, len(lines)) if not lines[n].startswith("|"))
    return [line.split("|")[1].strip() for line in lines[start:end]]


def test_its_table_names_all_audits() -> None:
    document = {"network": {"line": {"switches": 1, "hosts_per_switch": 2, "link": {"rate": "1Gbps", "delay": "1us"}}}}
    document["workload"] = [{"permutation": {"size": "1KB"}}]  # type: ignore[assignment]
    assert set(rows("audit")) == set(xoff.run(document).audits)


def test_stages_of_a_packet_stand_in_one_order() -> None:
    """Here, in the guide to a packet's way, and at the head of the node."""
    stages = ["route", "assign queue", "admit", "enqueue", "levels", "select", "dequeue", "departure"]
    places = (
        PAGE,
        (ROOT / "docs/way-of-a-packet.md").read_text("utf-8"),
        (ROOT / "crates/models/src/network/node/mod.rs").read_text("utf-8"),
    )
    for text in places:
        line = next(line for line in re.sub(r"\n//! ?", " ", text).splitlines() if "route → assign queue" in line)
        at = [line.index(stage) for stage in stages]
        assert all(one < other for one, other in pairwise(at))


# Parts with a generic walk over their contents.
_CONTAINERS = {
    "()",
    "Moment",
    "$type",
    "Box<T>",
    "Option<T>",
    "[T]",
    "Vec<T>",
    "std::collections::VecDeque<T>",
    "Ring<T>",
}
# Tuple structs of one field, and the enum of all mechanisms.
_OF_ONE_FIELD = {"Programs", "Reported", "Mechanism"}


def _bodies(text: str, head: str) -> list[tuple[str, str]]:
    """Yields the name of each match of a head, and the block after the head."""
    found = []
    for match in re.finditer(head, text):
        depth, end = 1, match.end()
        while depth:
            depth += {"{": 1, "}": -1}.get(text[end], 0)
            end += 1
        found.append((match[1].strip(), text[match.end() : end]))
    return found


def test_a_walk_names_every_field_of_its_part() -> None:
    # Trimmed packets were once not a total that grows with a period: the part named no field.
    unnamed = []
    for file in sorted((ROOT / "crates").glob("*/src/**/*.rs")):
        for part, body in _bodies(file.read_text("utf-8"), r"impl(?:<[^>]*>)? (?:\w+::)*State for ([^{]+)\{"):
            names_all = re.search(r"let (?:Self|\w+) \{(?:(?!\.\.)[^=])*\} =\s+self", body)
            if not (names_all or "match self" in body or part in _CONTAINERS | _OF_ONE_FIELD):
                unnamed.append(f"{file.relative_to(ROOT)}: {part}")
    assert unnamed == []
