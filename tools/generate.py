"""Writes the files that follow from the scenario's schema and the counts of its parts; Rust defines both.

- ``schema/scenario.schema.json``: the JSON Schema, from which editors complete and check scenario files
- ``python/xoff/scenario.py``: the typed classes
- ``docs/reference/scenario.md``: the reference of all parameters
- ``python/xoff/summary.py``: the types of a summary
- ``docs/reference/summary.md``: the reference of its keys
- ``docs/reference/tables.md``: the reference of result tables
- ``docs/reference/combinations.md``: pairs of parts that combine
- ``docs/reference/sonic-checks.md``: the checks of SONiC configurations
- ``docs/reference/commands.md``: the reference of the command
- ``docs/models.md``: the list of the pages of ``docs/models``
- ``docs/limitations.md``: the limits that the pages of ``docs/models`` state

No generated file is edited by hand. ``--check`` writes nothing, and fails if a file is stale.
"""

from __future__ import annotations

import json
import keyword
import re
import subprocess
import sys
from pathlib import Path
from typing import Any, TypeAlias

import combinations
import commands
import sonic_checks
from summary_keys import COUNTS, SUMMARY

from xoff import _core
from xoff.documentation import keys
from xoff.results import counts

ROOT = Path(__file__).resolve().parent.parent
Schema: TypeAlias = dict[str, Any]

_HEADER = '''"""The scenario as typed classes: `Scenario` and its parts, with the names of the file's keys.

Written by `make generate` from the schema of the Rust types; do not edit.
A field that is left out has the default of the simulator. An alternative, such as the kind of network, is a class
with one field for each choice, of which exactly one is given: ``Network(star=Star(hosts=4))``.
Quantities are texts with a unit, such as ``"150ns"``, ``"200Gbps"`` and ``"400KB"``.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any, Literal


def _plain(value: Any) -> Any:
    if isinstance(value, _Part):
        return value.to_dict()
    if isinstance(value, Mapping):
        return {key: _plain(part) for key, part in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(part) for part in value]
    return value


class _Part:
    """A part of a scenario."""

    def to_dict(self) -> dict[str, Any]:
        """Return the part as the dictionary that a file would hold, without the fields that were left out."""
        values = {field.name.rstrip("_"): getattr(self, field.name) for field in fields(self)}  # type: ignore[arg-type]
        return {name: _plain(value) for name, value in values.items() if value is not None}
'''


_SUMMARY_HEADER = '''"""The summary of a run as types: `Summary` and its parts, with the keys of ``xoff run --json``.

Written by `make generate` from what the parts of a network declare to count; do not edit.
"""

from __future__ import annotations

from typing import Any, NotRequired, TypedDict
'''

for _key, _kind, _meaning_of_key in json.loads(_core.measures()):
    _class = _kind.get("always") or _kind.get("sometimes")
    if _class is None:
        _class = _key.title().replace("_", "") + "Summary"
        SUMMARY[_class] = (_meaning_of_key, {name: ("float | None", text) for name, text in _kind["numbers"]})
    SUMMARY["WorkloadSummary"][1][_key] = (
        _class if "always" in _kind else f"NotRequired[{_class}]", _meaning_of_key,
    )  # fmt: skip
_UNITS = {"number": "number", "bytes": "bytes", "ps": "picoseconds"}


class Types:
    """Turns the schema's definitions into Python classes, in the order in which they are needed."""

    def __init__(self, root: Schema) -> None:
        self.definitions: dict[str, Schema] = root.get("$defs", {})
        self.root = root
        self.classes: dict[str, str] = {}
        self._names: dict[tuple[str, str], str] = {}
        self._around: list[str] = []

    def resolved(self, schema: Schema) -> tuple[str | None, Schema]:
        """Follows references; returns the definition's name, or None, and the definition."""
        return keys.resolved(self.root, schema)

    def annotation(self, schema: Schema | bool, hint: str) -> str:
        """Returns the Python type of a schema; `hint` names the class of an unnamed object."""
        if isinstance(schema, bool):
            return "Any"
        name, schema = self.resolved(schema)
        if name is not None and re.fullmatch(r"Params\d*", name):
            # The parameters of a mechanism are called `Params` in their own file; their class is named by the key.
            name = hint
        if "const" in schema:
            return f"Literal[{json.dumps(schema['const'])}]"
        if "enum" in schema:
            return f"Literal[{', '.join(json.dumps(value) for value in schema['enum'])}]"
        choices = keys.alternatives(schema)
        if choices:
            return self._alternative(name or hint, schema, choices)
        if schema.get("properties"):
            return self.define(name or hint, schema)
        return self._simple(schema, hint)

    def _simple(self, schema: Schema, hint: str) -> str:
        kinds = schema.get("type", [])
        kinds = [kinds] if isinstance(kinds, str) else kinds
        names = []
        for kind in kinds:
            if kind == "array":
                items = schema.get("items") or schema.get("prefixItems", [{}])[0]
                names.append(f"Sequence[{self.annotation(items, hint)}]")
            elif kind == "object":
                values = schema.get("additionalProperties", True)
                names.append(f"Mapping[str, {self.annotation(values, hint)}]")
            else:
                names.append(
                    {"string": "str", "integer": "int", "number": "float", "boolean": "bool"}.get(kind, "None")
                )
        if "float" in names:
            names = [name for name in names if name != "int"]
        return " | ".join(dict.fromkeys(names)) or "Any"

    def _alternative(self, name: str, schema: Schema, choices: list[Schema]) -> str:
        tags: dict[str, Schema] = {}
        others: list[str] = []
        for choice in choices:
            _, inner = self.resolved(choice)
            properties = inner.get("properties", {})
            if "$ref" not in choice and len(properties) == 1 and inner.get("required") == list(properties):
                tag, value = next(iter(properties.items()))
                described = {"description": inner.get("description", "")} if isinstance(value, dict) else {}
                tags[tag] = described | value if not value.get("description") else value
            else:
                others.append(self.annotation(choice, name))
        if tags:
            merged = {"description": schema.get("description", ""), "properties": tags}
            others.append(self.define(name, merged))
        literals = {other: found[1] for other in others if (found := re.fullmatch(r"Literal\[([^\]]*)\]", other))}
        texts = list(literals.values())
        kept = [other for other in dict.fromkeys(others) if other not in literals and other != "None"]
        if texts:
            kept.insert(0, f"Literal[{', '.join(texts)}]")
        return " | ".join([*kept, *(["None"] if "None" in others else [])])

    def define(self, name: str, schema: Schema) -> str:
        """Defines the class of an object; returns its name."""
        same = (name, json.dumps(schema))
        if same in self._names:
            return self._names[same]
        name = self._names[same] = self._free(name)
        self.classes[name] = ""
        self._around.append(name)
        required = set(schema.get("required", []))
        fields = {}
        for key, value in schema["properties"].items():
            field = key + "_" if keyword.iskeyword(key) else key
            kind = self.annotation(value, key.title().replace("_", ""))
            optional = key not in required
            if optional and "None" not in kind.split(" | "):
                kind += " | None"
            fields[field] = (kind, optional, keys.described(self.root, value))
        lines = [
            "@dataclass(kw_only=True)",
            f"class {name}(_Part):",
            *_class_docstring(schema.get("description", name)),
        ]
        for field, (kind, optional, text) in fields.items():
            lines += ["", f"    {field}: {kind}{' = None' if optional else ''}", *_docstring(text, "    ")]
        self._around.pop()
        # A class follows the classes of its fields, which `annotation` has just defined.
        del self.classes[name]
        self.classes[name] = "\n".join(lines)
        return name

    def _free(self, name: str) -> str:
        """Returns a name that no other class has, for the name of a definition or of a key.

        The schema numbers definitions whose types in Rust have one name, in different modules: `Row2`. Their classes,
        and those whose name is taken, begin with the class around them instead: `ServingRow`.
        """
        plain = name.rstrip("0123456789")
        is_taken = plain != name and plain in self.definitions
        name = plain if is_taken else name
        free = re.sub(r"\W|_", "", name[:1].upper() + name[1:])
        for around in reversed(self._around):
            if not is_taken and free not in self.classes:
                break
            free, is_taken = around + free, False
        if is_taken or free in self.classes:
            raise SystemExit(f"xoff: error: two types are called {free} in Python; rename one of them in Rust")
        return free


def _docstring(text: str, indent: str) -> list[str]:
    text = " ".join(text.split()).replace("\\", "\\\\").replace('"""', "'''")
    if not text:
        return []
    if not text.endswith((".", "!", "?")):
        text += "."
    if len(text) + len(indent) + 6 <= 120:
        return [f'{indent}"""{text}"""']
    lines, line = [], indent + '"""'
    for word in text.split(" "):
        if len(line) + len(word) + 1 > 120:
            lines.append(line.rstrip())
            line = indent
        line += word + " "
    lines.append(line.rstrip())
    return [*lines, indent + '"""']


def _class_docstring(text: str) -> list[str]:
    """Returns a docstring whose first sentence may be longer than a line, as descriptions of the schema may be."""
    *lines, last = _docstring(text, "    ")
    return [*lines, f"{last}  # noqa: D205"] if lines else [last]


def python_classes(root: Schema) -> str:
    """Returns the text of ``scenario.py``."""
    types = Types(root)
    types.define("Scenario", root)
    names = sorted(types.classes)
    exported = "__all__ = [" + ", ".join(json.dumps(name) for name in names) + "]\n"
    text = _HEADER.replace("\n\ndef _plain", f"\n{exported}\n\ndef _plain", 1)
    text += "".join(f"\n\n{body}\n" for body in types.classes.values())
    return _formatted(text, "scenario")


def summary_classes() -> dict[str, tuple[str, dict[str, tuple[str, str]]]]:
    """Returns the classes of a summary: the fixed classes, and a class for each part with counts."""
    classes, fields = {}, {}
    for group in counts.groups():
        name = group.name.title().replace("_", "") + "Counts"
        keys = {count.name: ("int", _meaning(count)) for count in group.counts}
        classes[name] = (f"The counts of {group.label}.", keys)
        fields[group.name] = (name, f"The counts of {group.label}; zeros if the scenario does not give it.")
    fixed = dict(SUMMARY)
    text, keys = fixed.pop("Summary")
    whole: dict[str, tuple[str, str]] = {}
    for key, field in keys.items():
        whole |= fields if key == COUNTS else {key: field}
    return fixed | classes | {"Summary": (text, whole)}


def python_summary() -> str:
    """Returns the text of ``summary.py``."""
    classes = summary_classes()
    lines = [_SUMMARY_HEADER, f"__all__ = {json.dumps(sorted(classes))}"]
    for name, (text, fields) in classes.items():
        lines += ["", "", f"class {name}(TypedDict):", *_class_docstring(text)]
        for key, (kind, meaning) in fields.items():
            lines += ["", f"    {key}: {kind}", *_docstring(meaning, "    ")]
    return _formatted("\n".join(lines) + "\n", "summary")


def table_reference() -> str:
    """Returns the text of the reference of result tables: a section for each."""
    lines = [
        "# Result tables",
        "",
        "Every column of the tables of a result: Arrow tables in Python (`result.flows`, `result.table(name)`), and",
        "Parquet files in the directory of a result. Written by `make generate`; do not edit.",
        "",
        "Units stand last in names: `_ps` are picoseconds, `_bps` bits per second. Tables of a study have the run, its",
        "parameters and the seed in front.",
    ]
    words = {"Utf8": "text", "Float64": "number", "UInt64": "integer", "UInt32": "integer", "UInt16": "integer"}
    for table in json.loads(_core.tables()):
        lines += ["", f"## `{table['name']}`", "", table["about"], "", "| column | type | meaning |", "|---|---|---|"]
        for column in table["columns"]:
            kind = words.get(column["type"], "integer") + (" or null" if column["maybe"] else "")
            lines.append(f"| `{column['name']}` | {kind} | {column['meaning']} |")
    return "\n".join(lines) + "\n"


def summary_reference() -> str:
    """Returns the text of the reference of a summary: a section for each table of keys."""
    lines = [
        "# Summary reference",
        "",
        "Every key of the summary of a run. `xoff run --json` prints the summary, `summary.json` of a result holds it,",
        "and `Result.summary` in Python has the type `xoff.Summary`. Written by `make generate`; do not edit.",
        "",
        "Keys end in their unit: `_ps` is picoseconds. In a study each number is a column of the runs:",
        "`fct_ps.mean` is `fct_mean_ps`, and `pauses` in the table `pfc` is `pfc_pauses`.",
    ]
    linked = {name: name.lower() for name in SUMMARY if name != "Summary"}
    for name, title in {"Summary": "Top level", **{name: name for name in linked}}.items():
        text, keys = SUMMARY[name]
        lines += ["", f"## {title}", "", text, "", "| key | type | meaning |", "|---|---|---|"]
        for key, (kind, meaning) in keys.items():
            if key == COUNTS:
                lines += [
                    f"| `{group.name}` | [table](#{group.name}) | The counts of {group.label}. |"
                    for group in counts.groups()
                ]
            else:
                lines.append(f"| `{key}` | {_json_kind(kind, linked)} | {meaning} |")
    lines += ["", "Every summary has all tables below, with zeros for parts that the scenario does not give."]
    for group in counts.groups():
        lines += ["", f"## `{group.name}`", "", f"The counts of {group.label}.", ""]
        lines += ["| key | unit | what it counts |", "|---|---|---|"]
        lines += [f"| `{one.name}` | {_UNITS[one.unit]} | {_sentence(one.label)}. |" for one in group.counts]
    return "\n".join(lines) + "\n"


def _meaning(count: counts.Count) -> str:
    unit = "" if count.unit == "number" else f", in {_UNITS[count.unit]}"
    return f"{_sentence(count.label)}{unit}."


def _sentence(label: str) -> str:
    return label[:1].upper() + label[1:]


def _json_kind(kind: str, linked: dict[str, str]) -> str:
    """Returns a type in the words of JSON, with links to the sections of tables."""
    optional = " or null" if "None" in kind else ", if there is one" if "NotRequired" in kind else ""
    name = re.sub(r"NotRequired|\[|\]|\| None", " ", kind).split()
    words = {"int": "integer", "float": "number", "bool": "true or false", "str": "text"}
    words |= {"list": "list of", "dict": "table of", "Any": "any value"}
    # The keys of a table are names; the type describes its values.
    found = [words.get(one) or f"[{one}](#{linked[one]})" for one in name if one != "str,"]
    return " ".join(found) + optional


def _formatted(text: str, module: str) -> str:
    ruff = str(Path(sys.executable).with_name("ruff"))
    for command in (["check", "--quiet", "--fix", "--exit-zero"], ["format", "--quiet"]):
        done = subprocess.run(
            [ruff, *command, "--stdin-filename", f"python/xoff/{module}.py", "-"],
            input=text,
            capture_output=True,
            text=True,
            check=True,
            cwd=ROOT,
        )
        text = done.stdout
    return text


def reference(root: Schema) -> str:
    """Returns the text of the parameter reference: a section for each table of a scenario file."""
    lines = [
        "# Scenario reference",
        "",
        "Every key of a scenario file, with its default. Written by `make generate` from the schema; do not edit.",
        "",
        'Quantities are texts with a unit: times `"150ns"`, rates `"200Gbps"`, sizes `"400KB"` (1 KB is 1000 bytes).',
    ]
    for section in keys.sections(root):
        lines += ["", f"## `{section.path}`" if section.path else "## Top level", ""]
        if section.like:
            lines.append(f"The keys are those of `{section.like}`.")
            continue
        lines += [section.about, ""] if section.about else []
        lines += ["| key | type | default | meaning |", "|---|---|---|---|", *map(_row, section.keys)]
    return "\n".join(lines) + "\n"


def _row(key: keys.Key) -> str:
    meanings = [f"`{json.dumps(choice)}`: {said}" for choice, said in key.choices]
    text = " ".join(" ".join([key.meaning, *meanings]).split())
    kind = ", ".join(f"`{one}`" if one.startswith('"') else one for one in key.kinds)
    default = "required" if key.is_required else f"`{key.default}`" if key.default is not None else ""
    return f"| `{key.name}` | " + " | ".join(one.replace("|", "\\|") for one in (kind, default, text)) + " |"


_MODELS = ROOT / "docs" / "models"
_MODELS_HEADER = """# Models

Each page describes one model: the rules, the equations, each parameter with the source of its default, the limits,
and the tests that hold the model. [Limitations](limitations.md) collects the limits of all pages.
Written by `make generate` from these pages; do not edit.
"""
_LIMITATIONS = """# Limitations

This page lists what xoff does not model, the consequences, and the way around a limit where there is one.
Each section repeats the limits of one page of `docs/models`, which also describes the model and names its sources.
Written by `make generate` from these pages; do not edit.
"""
# The sections of `docs/limitations.md`, and the pages of each, alphabetically.
_GROUPS = {
    "Links and time": ("failover", "faults", "link_retry", "links", "time", "topologies"),
    "Switches": (
        "adaptive",
        "bcn",
        "bfc",
        "congestion_isolation",
        "conweave",
        "credits",
        "cut_through",
        "drill",
        "ecmp",
        "ecn",
        "flowlet",
        "pfc",
        "portfc",
        "qcn",
        "queueing",
        "reducers",
        "reps",
        "sfc",
        "sonic",
        "spray",
        "switch_buffer",
        "telemetry",
        "trimming",
    ),
    "Hosts": (
        "dcqcn",
        "dctcp",
        "first_hop",
        "go_back_n",
        "host",
        "hpcc",
        "hpcc_pint",
        "irn",
        "ndp",
        "nscc",
        "python_control",
        "raw",
        "rccc",
        "relay",
        "selective",
        "swift",
        "timely",
    ),
    "Workloads": (
        "all_to_all",
        "bernoulli",
        "collective",
        "flows",
        "graph",
        "incast",
        "jobs",
        "moe",
        "nccl",
        "parameter_server",
        "permutation",
        "poisson",
        "python",
        "repeated_incast",
        "serving",
        "training",
    ),
    "Studies and results": ("explanations", "results", "size", "studies"),
}


def models() -> str:
    """Returns the page that lists the pages of ``docs/models`` by group, each with its definition."""
    lines = [_MODELS_HEADER.rstrip()]
    for group, names in _GROUPS.items():
        lines += ["", f"## {group}", "", "| model | definition |", "|---|---|"]
        for name in names:
            text = (_MODELS / f"{name}.md").read_text("utf-8")
            title = text.partition("\n")[0].removeprefix("# ")
            paragraphs = [one.strip() for one in text.partition("## ")[0].split("\n\n")[1:]]
            definition = next(one for one in paragraphs if not one.startswith("*"))
            # Links are relative to a page's folder.
            definition = re.sub(r"\]\((?!\w+:|\.\./|#)", "](models/", definition.replace("\n", " ")).replace(
                "](../", "]("
            )
            lines.append(f"| [{title}](models/{name}.md) | {definition} |")
    return "\n".join(lines) + "\n"


def limitations() -> str:
    """Returns the page of limitations: the limits of each page of ``docs/models``, by group."""
    pages = {page.stem: page.read_text("utf-8") for page in _MODELS.glob("*.md")}
    ungrouped = sorted(set(pages) - {name for names in _GROUPS.values() for name in names})
    if ungrouped:
        raise SystemExit(
            f"xoff: error: {', '.join(ungrouped)}: not in _GROUPS of tools/generate.py; add the page there"
        )
    lines = [_LIMITATIONS.rstrip()]
    for group, names in _GROUPS.items():
        lines += ["", f"## {group}"]
        for name in names:
            if name not in pages:
                continue
            title = pages[name].partition("\n")[0].removeprefix("# ")
            found = re.search(r"^## Limits\n(.*?)(?=^## |\Z)", pages[name], re.M | re.S)
            if found is None:
                raise SystemExit(f"xoff: error: docs/models/{name}.md: no section `## Limits`; add one")
            # Links are relative to a page's folder: `pfc.md` is `models/pfc.md` here, and `../index.md` is `index.md`.
            limits = re.sub(r"\]\((?!\w+:|\.\./|#)", "](models/", found[1].strip()).replace("](../", "](")
            lines += ["", f"### [{title}](models/{name}.md)", "", limits]
    return "\n".join(lines) + "\n"


def main() -> int:
    """Writes the files, or checks them; returns the exit code."""
    root: Schema = json.loads(_core.schema())
    wanted = {
        "schema/scenario.schema.json": json.dumps(root, indent=2, ensure_ascii=False) + "\n",
        "python/xoff/scenario.py": python_classes(root),
        "docs/reference/scenario.md": reference(root),
        "python/xoff/summary.py": python_summary(),
        "docs/reference/summary.md": summary_reference(),
        "docs/reference/tables.md": table_reference(),
        "docs/reference/combinations.md": combinations.page(),
        "docs/reference/sonic-checks.md": sonic_checks.page(),
        "docs/reference/commands.md": commands.page(),
        "docs/models.md": models(),
        "docs/limitations.md": limitations(),
    }
    stale = []
    for name, text in wanted.items():
        file = ROOT / name
        if not file.is_file() or file.read_text("utf-8") != text:
            stale.append(name)
            if "--check" not in sys.argv:
                file.parent.mkdir(parents=True, exist_ok=True)
                file.write_text(text, "utf-8")
                print(f"wrote {name}")
    if stale and "--check" in sys.argv:
        print(f"xoff: error: {', '.join(stale)} is stale; run `make generate`", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
