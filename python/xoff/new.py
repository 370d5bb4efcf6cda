"""``xoff new``: writes the skeleton of a new part into a source checkout, registered, compiling, with its test.

A skeleton is a file of ``templates/`` and a list of edits that register it. All edits are worked out before anything is
written, so that a checkout is changed as a whole or not at all.
"""

from __future__ import annotations

import keyword
import re
import shutil
import subprocess
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TypeAlias

from xoff._core import InputError

Edit: TypeAlias = Callable[[str, str], str]
"""Takes the text of a file and the slug; returns the text with the slug registered."""

_TEMPLATES = Path(__file__).resolve().parent / "templates"
# Words of Rust that are no words of Python cannot name a module there, either.
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
    """What a kind of part consists of: its file, the template of it, and the edits that register it."""

    template: str
    file: str
    edits: tuple[tuple[str, Edit], ...]


def _module(text: str, slug: str) -> str:
    """Add ``pub mod slug;`` in the alphabetical place."""
    names: list[str] = re.findall(r"^pub mod (\w+);$", text, re.M)
    if not names:
        raise LookupError("no `pub mod` line")
    later = next((name for name in names if name > slug), None)
    if later is not None:
        return text.replace(f"pub mod {later};", f"pub mod {slug};\npub mod {later};", 1)
    return text.replace(f"pub mod {names[-1]};", f"pub mod {names[-1]};\npub mod {slug};", 1)


def _field(struct: str) -> Edit:
    """Add an optional field with the part's parameters at the end of a struct."""

    def edit(text: str, slug: str) -> str:
        lines = f"""
    /// {_title(slug)}.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub {slug}: Option<{slug}::Params>,"""
        return _after(rf"pub struct {struct} \{{.*?(?=\n\}})", lines)(text, slug)

    return edit


def _after(pattern: str, addition: str) -> Edit:
    """Add text after the first match of a pattern; ``{slug}`` and ``{Name}`` in it are replaced."""

    def edit(text: str, slug: str) -> str:
        match = re.search(pattern, text, re.S)
        if match is None:
            raise LookupError(f"no match of {pattern!r}")
        return text[: match.end()] + _filled(addition, slug) + text[match.end() :]

    return edit


def _before(pattern: str, addition: str) -> Edit:
    """Add text before the first match of a pattern."""

    def edit(text: str, slug: str) -> str:
        match = re.search(pattern, text, re.S)
        if match is None:
            raise LookupError(f"no match of {pattern!r}")
        return text[: match.start()] + _filled(addition, slug) + text[match.start() :]

    return edit


_MODELS = "crates/models/src"
_LISTED = """if let Some({slug}) = &workload.{slug} {
            let key = format!("{at}.{slug}");
            let members = all({slug}.hosts.as_ref(), &format!("{key}.hosts"))?;
            for (src, dst, size) in {slug}.flows(&members) {
                add(&mut listed, src, dst, size, &key)?;
            }
        }
        """
# A setting that no host obeys is refused, not ignored: it would pass for a result of the new transport.
_NOT_RUN_YET = """if s.host.transport.{slug}.is_some() {
        let why = "hosts do not run it yet; give it a variant of Protocol (transport/mod.rs), and remove this check";
        return wrong("host.transport.{slug}", why.into());
    }
    """
KINDS = {
    "mechanism": Kind(
        "mechanism.rs",
        f"{_MODELS}/mechanisms/{{slug}}.rs",
        (
            (
                f"{_MODELS}/mechanisms/mod.rs",
                _after(r"\nregistry! \{.*?(?=\n\})", "\n    /// {title}.\n    {slug}: {Name},"),
            ),
        ),
    ),
    "transport": Kind(
        "transport.rs",
        f"{_MODELS}/transport/{{slug}}.rs",
        (
            (f"{_MODELS}/transport/mod.rs", _module),
            (f"{_MODELS}/transport/mod.rs", _field("Transport")),
            ("crates/scenario/src/read.rs", _before(r"if s\.host\.transport\.go_back_n", _NOT_RUN_YET)),
        ),
    ),
    "workload": Kind(
        "workload.rs",
        f"{_MODELS}/workload/{{slug}}.rs",
        (
            (f"{_MODELS}/workload/mod.rs", _module),
            (f"{_MODELS}/workload/mod.rs", _field("Workload")),
            (f"{_MODELS}/workload/mod.rs", _after(r"\n +kinds!\(\w[\w, ]*", ", {slug}")),
            (f"{_MODELS}/workload/mod.rs", _after(r"give exactly one of \w[\w, ]*", ", {slug}")),
            (f"{_MODELS}/workload/mod.rs", _before(r"if let Some\(poisson\) = &workload.poisson", _LISTED)),
        ),
    ),
    "topology": Kind(
        "topology.rs",
        f"{_MODELS}/topology/{{slug}}.rs",
        (
            (f"{_MODELS}/topology/mod.rs", _module),
            (f"{_MODELS}/topology/mod.rs", _field("Network")),
            (f"{_MODELS}/topology/mod.rs", _after(r"add!\(\w[\w, ]*", ", {slug}")),
            (f"{_MODELS}/topology/mod.rs", _after(r'let all = "[\w, ]*', ", {slug}")),
        ),
    ),
    "experiment": Kind("experiment.py", "experiments/{document}/{slug}.py", ()),
}


def create(kind: str, name: str, root: Path | None = None) -> list[Path]:
    """Write a part of a kind; return the paths of the files that were written or changed."""
    if kind not in KINDS:
        raise InputError(f"new: `{kind}` is not a kind of part; allowed are {', '.join(KINDS)}")
    document, _, slug = name.rpartition("/")
    if kind == "experiment" and not _is_slug(document):
        raise InputError(f"new: `{name}` names no document; an experiment is DOCUMENT/NAME, such as sfc/buffer_size")
    if not _is_slug(slug) or (document and kind != "experiment"):
        raise InputError(f"new: `{name}` is not a name; it is lower-case letters, digits and underscores: my_scheme")
    root = root or _checkout()
    part = KINDS[kind]
    file = root / part.file.format(slug=slug, document=document)
    if file.exists() or (file.suffix == ".rs" and file.with_suffix("").exists()):
        raise InputError(f"new: {file} is there already")
    template = (_TEMPLATES / f"{part.template}.txt").read_text("utf-8")
    # The folder of a document has underscores for the hyphens of its name.
    texts = {file: _filled(template, slug).replace("{document}", document.replace("_", "-"))}
    for place, edit in part.edits:
        target = root / place
        is_taken = re.compile(rf"^ *(pub )?{slug}:", re.M)
        if target.suffix == ".rs" and target.is_file() and is_taken.search(target.read_text("utf-8")):
            raise InputError(f"new: `{slug}` is there already, in {target}")
        try:
            texts[target] = edit(texts[target] if target in texts else target.read_text("utf-8"), slug)
        except (LookupError, OSError) as error:
            raise InputError(f"new: {target} does not look as expected ({error}); register `{slug}` by hand") from None
    for target, text in texts.items():
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(text, "utf-8")
    _format(root, [target for target in texts if target.suffix == ".rs"])
    return list(texts)


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
    for root in (Path.cwd(), *Path.cwd().parents, Path(__file__).resolve().parents[2]):
        if (root / _MODELS).is_dir() and (root / "experiments").is_dir():
            return root
    raise InputError("new: this is not a source checkout of xoff; run the command inside one")


def _format(root: Path, files: list[Path]) -> None:
    """Let rustfmt order and wrap what was added; a checkout without it only looks less tidy."""
    program = shutil.which("rustfmt")
    if program and files:
        subprocess.run(
            [program, "--edition", "2024", "--config", "skip_children=true", *map(str, files)],
            cwd=root,
            capture_output=True,
            check=False,
        )
