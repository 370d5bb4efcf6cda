"""``xoff new``: writes a first scenario, study, job or Python module, or the skeleton of a part into a source checkout.

Scenarios, studies and jobs are commented templates, ready to run. A skeleton is registered, compiles, and has a test. A
skeleton is a file of this folder and a list of edits for registration. All edits are computed before the first file
is written, so that a checkout is changed as a whole or not at all.
"""

from __future__ import annotations

import json
import keyword
import re
import shlex
import shutil
import subprocess
import textwrap
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import TypeAlias

from xoff import _core, formatting
from xoff._core import InputError
from xoff.files.new_files import write_files
from xoff.version import __version__, schema_address

Edit: TypeAlias = Callable[[str, str], str]
"""A function from the text of a file and the slug to the text with the slug registered."""

_TEMPLATES = Path(__file__).resolve().parent
# Words of Rust that are not words of Python: they cannot name a Rust module.
_RUST_WORDS = {
    *(
        "abstract",
        "become",
        "box",
        "const",
        "crate",
        "do",
        "dyn",
        "enum",
        "extern",
        "false",
        "final",
        "fn",
        "gen",
        "impl",
    ),
    *(
        "let",
        "loop",
        "macro",
        "match",
        "mod",
        "move",
        "mut",
        "override",
        "priv",
        "pub",
        "ref",
        "self",
        "static",
        "struct",
    ),
    *("super", "trait", "true", "type", "typeof", "unsafe", "unsized", "use", "virtual", "where"),
}


@dataclass(frozen=True, slots=True)
class Kind:
    """The file of a kind of part, the template, and the edits for registration."""

    template: str
    file: str
    edits: tuple[tuple[str, Edit], ...]


def _line(block: str) -> Edit:
    """Returns the edit that adds a line to a block of a registry.

    block: a pattern of the block's first line, which ends with a brace. The block ends at the first closing brace with
        equal indentation.
    """

    def edit(text: str, slug: str) -> str:
        match = re.search(rf"\n(?P<indent> *){block} \{{\n.*?(?=\n(?P=indent)\}})", text, re.S)
        if match is None:
            raise LookupError(f"no block {block!r}")
        indent = match["indent"] + "    "
        typed = re.search(r"\n +\w+: \w+,$", match[0])
        entry = "{slug}: {Name}," if typed else "{slug},"
        return text[: match.end()] + _filled(f"\n{indent}/// {{title}}.\n{indent}{entry}", slug) + text[match.end() :]

    return edit


_MODELS = "crates/models/src"
_APPLICATIONS = "crates/applications/src"


def _part(kind: str, folder: str, block: str, crate: str = _MODELS) -> Kind:
    """Returns the kind of a part in Rust: the file, and the line in the registry of the folder."""
    return Kind(f"{kind}.rs", f"{crate}/{folder}/{{slug}}.rs", ((f"{crate}/{folder}/mod.rs", _line(block)),))


KINDS = {
    "mechanism": _part("mechanism", "mechanisms", r"FlowControl at [^\n]* in flow_control"),
    "transport": _part("transport", "hosts/transport", "registry!"),
    "congestion_control": _part("congestion_control", "hosts/congestion_control", "registry!"),
    "routing": _part("routing", "mechanisms", r"Routing at [^\n]* in routing"),
    "topology": _part("topology", "paths/topology", "registry!"),
    "workload": _part("workload", "workload", "registry!", _APPLICATIONS),
    "experiment": Kind("experiment.py", "experiments/xoff_experiments/{document}/{slug}.py", ()),
}


PARTS_OF_PLUGINS = {
    "mechanism": ("mechanisms", "switch.flow_control", "switch"),
    "routing": ("mechanisms", "switch.routing", "switch"),
    "transport": ("transports", "host.transport", "host.transport"),
    "congestion_control": ("congestion_controls", "host.congestion_control", "host.congestion_control"),
    "workload": ("workloads", "workload[…]", "workload[0]"),
}
"""The parts of plug-ins: the list in the plug-in, the table of xoff's parts, and the table of plug-ins' parts."""


PYTHON = "python"
"""The kind of a scenario whose traffic a Python function writes."""
COUNTERS = "counters"
"""The kind of a file of counters."""
DOCUMENTS = {"scenario": (), "study": (), "training": (), "serving": (), "graph": ("operations", "groups")}
"""Kinds of ready-to-run files, and the tables of each."""


def write_document(kind: str, name: str = "") -> list[Path]:
    """Writes a ready-to-run file with comments on options, and the tables; returns all paths.

    name: the file, with or without ``.toml``; the name of the kind if empty.

    Raises `InputError` if one of the files exists.
    """
    file = Path(name or kind)
    file = file if file.suffix == ".toml" else file.with_name(f"{file.name}.toml")
    tables = {table: file.with_name(f"{file.stem}-{table}.csv") for table in DOCUMENTS[kind]}
    for place in (file, *tables.values()):
        if place.exists():
            raise InputError(f"{place}: exists; choose another name")
    text = (_TEMPLATES / f"{kind}.toml").read_text("utf-8")
    schema: dict[Path, str] = {}
    if kind != "study":
        first, schema = _schema(file.parent)
        text = first + text
    # A file name may hold characters that end a text or a comment.
    quoted = json.dumps(formatting.plain(file.stem))
    for table, place in tables.items():
        text = text.replace(f'"{{stem}}-{table}.csv"', json.dumps(place.name))
    texts = {place: (_TEMPLATES / f"{kind}-{table}.csv").read_text("utf-8") for table, place in tables.items()}
    texts[file] = text.replace('"{name}"', quoted).replace("{file}", shlex.quote(formatting.plain(str(file))))
    write_files(texts | schema)
    return [file, *tables.values(), *schema]


def _schema(folder: Path) -> tuple[str, dict[Path, str]]:
    """Returns the line that names the schema for an editor, and the schema as a file if no address is known.

    A wheel without an address has no schema that an editor could open, so a copy is written beside the scenario, once.
    """
    if address := schema_address():
        return f"#:schema {address}\n", {}
    place = folder / "scenario.schema.json"
    text = json.dumps(json.loads(_core.schema()), indent=2) + "\n"
    return f"#:schema ./{place.name}\n", {} if place.exists() else {place: text}


def write_counters(_: str = COUNTERS, name: str = "") -> list[Path]:
    """Writes a table of counters for ``xoff explain --counters``, with every known name; returns the path.

    Raises `InputError` if the file exists.
    """
    from xoff.counters.names import MEANINGS
    from xoff.counters.names import name as called
    from xoff.counters.reading import COLUMNS

    file = Path(name or COUNTERS)
    file = file if file.suffix == ".csv" else file.with_name(f"{file.name}.csv")
    if file.exists():
        raise InputError(f"{file}: exists; choose another name")
    rows = [",".join(COLUMNS)]
    for node, peer, is_host in (("leaf0", "host0", False), ("host0", "leaf0", True)):
        names = (called(one.key, 3, is_host=is_host) for one in MEANINGS)
        rows += [f"{node},{peer},3,{text},0" for text in names if text is not None]
    write_files({file: "\n".join(rows) + "\n"})
    return [file]


def write_python(kind: str = PYTHON, name: str = "") -> list[Path]:
    """Writes a scenario, the module that it calls, and a study of it, all ready to run; returns the paths.

    name: the name of the files, which is the name of a Python module; ``python_idea`` if empty.

    Raises `InputError` if one of the files exists, or Python has no such module, or has another of the name.
    """
    place = Path(name or f"{kind}_idea")
    place = place.with_suffix("") if place.suffix in {".toml", ".py"} else place
    module = place.name
    files = {
        f"{module}.toml": "python.toml",
        f"{module}.py": "python.py.txt",
        f"{module}-study.toml": "python-study.toml",
    }
    paths = [place.with_name(file) for file in files]
    for path in paths:
        if path.exists():
            raise InputError(f"{path}: exists; choose another name")
    if not _is_slug(module) or find_spec(module) is not None:
        why = "is the name of an installed module" if _is_slug(module) else "is not the name of a module"
        raise InputError(
            f"new: `{formatting.plain(module)}` {why}; allowed are lower-case letters, digits and underscores: my_idea"
        )
    texts: dict[Path, str] = {}
    schema: dict[Path, str] = {}
    for path, template in zip(paths, files.values(), strict=True):
        text = (_TEMPLATES / template).read_text("utf-8").replace("{name}", module).replace("{module}", module)
        if template == "python.toml":
            first, schema = _schema(path.parent)
            text = first + text
        texts[path] = text.replace("{file}", shlex.quote(formatting.plain(str(path))))
    write_files(texts | schema)
    return [*paths, *schema]


def create(kind: str, name: str, root: Path | None = None) -> list[Path]:
    """Writes a part of a kind; returns the paths of the files that were written or changed.

    Raises `InputError` if the kind or the name is not valid, the part exists, or the checkout has an unexpected layout.
    """
    if kind not in KINDS:
        allowed = ", ".join((*DOCUMENTS, COUNTERS, PYTHON, *KINDS))
        raise InputError(f"new: `{kind}` is not a kind of file or part; allowed are {allowed}")
    document, _, slug = name.rpartition("/")
    if kind == "experiment" and not _is_slug(document):
        raise InputError(f"new: `{name}` has no document; an experiment is DOCUMENT/NAME, such as sfc/buffer_size")
    if not _is_slug(slug) or (document and kind != "experiment"):
        raise InputError(
            f"new: `{name}` is not a name; allowed are lower-case letters, digits and underscores: my_scheme"
        )
    root = root or _checkout()
    part = KINDS[kind]
    file = root / part.file.format(slug=slug, document=document)
    if file.exists() or (file.suffix == ".rs" and file.with_suffix("").exists()):
        raise InputError(f"new: {file} exists")
    template = (_TEMPLATES / f"{part.template}.txt").read_text("utf-8")
    # The folder of a document has underscores where its name has hyphens.
    texts = {file: _filled(template, slug).replace("{document}", document.replace("_", "-"))}
    for place, edit in part.edits:
        target = root / place
        is_taken = re.compile(rf"^ *(pub )?{slug}[:,]", re.M)
        if target.suffix == ".rs" and target.is_file() and is_taken.search(target.read_text("utf-8")):
            raise InputError(f"new: `{slug}` exists in {target}")
        try:
            texts[target] = edit(texts[target] if target in texts else target.read_text("utf-8"), slug)
        except (LookupError, OSError) as error:
            raise InputError(f"new: {target} has an unexpected layout ({error}); register `{slug}` by hand") from None
    write_files(texts)
    _format(root, [target for target in texts if target.suffix == ".rs"])
    return list(texts)


def create_plugin(name: str, kinds: Sequence[str]) -> list[Path]:
    """Writes the package of a plug-in into a new folder NAME, with a skeleton for each kind of part; returns the paths.

    Raises `InputError` if the name or a kind is not valid, or the folder exists.
    """
    place = Path(name)
    slug = place.name
    if not _is_slug(slug):
        raise InputError(
            f"new: `{slug}` is not a name; allowed are lower-case letters, digits and underscores: my_scheme"
        )
    if place.exists():
        raise InputError(f"new: {place} exists; choose another name")
    for kind in kinds:
        if kind not in PARTS_OF_PLUGINS:
            raise InputError(
                f"new: --part: `{kind}` is no part of a plug-in; allowed are {', '.join(PARTS_OF_PLUGINS)}"
            )
    if {"mechanism", "routing"} <= {*kinds}:
        raise InputError("new: --part: routing is a mechanism; give one of the two")
    parts = {kind: PARTS_OF_PLUGINS[kind] for kind in dict.fromkeys(kinds)}
    version = ".".join(__version__.split(".")[:2])
    texts = {
        place / "Cargo.toml": (_TEMPLATES / "plugin.toml.txt").read_text("utf-8").replace("{version}", version),
        place / "src" / "lib.rs": (_TEMPLATES / "plugin.rs.txt").read_text("utf-8"),
        place / "scenario.toml": (_TEMPLATES / "plugin-scenario.toml").read_text("utf-8"),
        place / ".gitignore": "/target\n",
    }
    modules = "".join(f"mod {kind};\n" for kind in sorted(parts))
    names = {kind: "Params" if kind == "workload" else "{Name}" for kind in parts}
    entries = "".join(
        f'    {plural}: &[Entry::{plural[:-1]}::<{kind}::{names[kind]}>("{{slug}}", "{{title}}.")],\n'
        for kind, (plural, *_) in parts.items()
    )
    tables = "".join(f"[{table}.plugins.{{slug}}]\n\n" for kind, (*_, table) in parts.items() if kind != "workload")
    incast = 'incast = { senders = [1, 2, 3, 4, 5, 6, 7, 8], receiver = 0, size = "1MB" }'
    traffic = 'plugins.{slug} = { size = "1MB" }' if "workload" in parts else incast
    for file in texts:
        filled = texts[file].replace("{modules}", modules).replace("{entries}", entries).replace("{tables}", tables)
        texts[file] = _filled(filled.replace("{traffic}", traffic), slug)
    for kind, (plural, own, table) in parts.items():
        text = (_TEMPLATES / f"{KINDS[kind].template}.txt").read_text("utf-8")
        module = {"mechanisms": "mechanisms", "workloads": "workload"}.get(plural, kind)
        text = re.sub(r"^use super::", f"use xoff_models::{module}::", text, flags=re.M).replace(
            "crate::", "xoff_models::"
        )
        text = text.replace("xoff_engine::", "xoff_models::").replace(f"{own}.{{slug}}", f"{table}.plugins.{{slug}}")
        texts[place / "src" / f"{kind}.rs"] = _filled(_with_hooks(text), slug)
    write_files(texts)
    _format(place, [file for file in texts if file.suffix == ".rs"])
    return list(texts)


# The contract of each trait of a part, below the crate of the models.
_CONTRACTS = {
    "Hooks": "mechanisms/contract.rs",
    "Control": "hosts/congestion_control/contract.rs",
    "Transport": "hosts/transport/contract.rs",
}


def _with_hooks(text: str) -> str:
    """Returns the text of a part with the other methods of its contract as comments before the trait."""
    from xoff.plugins import building

    for trait, file in _CONTRACTS.items():
        head = f"impl {trait} for {{Name}} {{"
        if head not in text:
            continue
        written = set(re.findall(r"^    fn (\w+)", text[text.index(head) :], re.M))
        contract = (building.sources() / _MODELS / file).read_text("utf-8")
        lines = [f"// `{trait}` has further methods, each with a default:"]
        for name, about in hooks(contract, trait):
            if name not in written:
                lines += textwrap.wrap(f"- `{name}`: {about}", 116, initial_indent="// ", subsequent_indent="//   ")
        text = text.replace(head, "\n".join([*lines, head]))
    return text


def hooks(contract: str, trait: str) -> list[tuple[str, str]]:
    """Returns the methods of a trait with a default, each with the first sentence of its documentation."""
    body = re.search(rf"^pub trait {trait}\b[^{{]*\{{\n(.*?)^\}}", contract, re.M | re.S)
    if body is None:
        raise LookupError(f"no trait {trait}")
    found = []
    pattern = r"((?:^    ///[^\n]*\n)+)(?:^    #\[[^\n]*\n)*^    fn (\w+)((?:(?!^    [}}#/]|;\n).)*?)(;|\{)"
    for docs, name, _, end in re.findall(pattern, body[1], re.M | re.S):
        about = " ".join(line.strip().removeprefix("///").strip() for line in docs.strip().splitlines())
        if end == "{":
            found.append((name, re.split(r"(?<=\.)\s", about)[0]))
    return found


def _is_slug(name: str) -> bool:
    return (
        re.fullmatch(r"[a-z][a-z0-9_]*", name) is not None and not keyword.iskeyword(name) and name not in _RUST_WORDS
    )


def _title(slug: str) -> str:
    return slug.replace("_", " ").capitalize()


def _filled(text: str, slug: str) -> str:
    camel = "".join(word.capitalize() for word in slug.split("_"))
    return text.replace("{slug}", slug).replace("{Name}", camel).replace("{title}", _title(slug))


def _checkout() -> Path:
    for root in (Path.cwd(), *Path.cwd().parents, Path(__file__).resolve().parents[3]):
        if (root / _MODELS).is_dir() and (root / "experiments").is_dir():
            return root
    raise InputError("new: this is not a source checkout of xoff; run the command inside one")


def _format(root: Path, files: list[Path]) -> None:
    """Runs rustfmt on the changed files. Without rustfmt the files stay unformatted."""
    program = shutil.which("rustfmt")
    if program and files:
        subprocess.run(
            [program, "--edition", "2024", "--config", "skip_children=true", *map(str, files)],
            cwd=root,
            capture_output=True,
            check=False,
        )
