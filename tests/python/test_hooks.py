"""A mechanism watches the hooks that it implements, and implements the hooks that it watches.

A node calls only the hooks named by `watches()`. A written hook that is not watched is never called.
"""

import re
from pathlib import Path

MODELS = Path(__file__).parents[2] / "crates" / "models" / "src"
MECHANISM = (MODELS / "mechanisms" / "contract.rs").read_text("utf-8")


def watched() -> dict[str, str]:
    """The constant of `Watches` by hook."""
    block = MECHANISM[MECHANISM.index("impl Watches {") : MECHANISM.index("pub const HOOKS")]
    found: dict[str, str] = {}
    for comment, constant in re.findall(r"((?:\s*///[^\n]*\n)+)\s*pub const ([A-Z]+): Self", block):
        found |= dict.fromkeys(re.findall(r"`Hooks::(\w+)`", comment), constant)
    return found


def blocks(text: str) -> dict[str, str]:
    """The text of each `impl Hooks for NAME` by name."""
    return dict(re.findall(r"^impl Hooks for (\w+) \{\n(.*?)^\}", text, re.M | re.S))


def body(block: str, name: str) -> str:
    """The text of a function in an `impl` block."""
    match = re.search(rf"^    fn {name}\(.*?^    \}}", block, re.M | re.S)
    return match[0] if match else ""


def mistakes(block: str) -> list[str]:
    """Returns the hooks of an `impl` block that are not watched, and the watched constants without a hook."""
    hooks = watched()
    written = set(re.findall(r"^    fn (\w+)\(", block, re.M)) & hooks.keys()
    named = set(re.findall(r"Watches::([A-Z]+)", body(block, "watches"))) - {"NONE"}
    unwatched = [f"{hook} without {hooks[hook]}" for hook in sorted(written) if hooks[hook] not in named]
    return unwatched + sorted(named - {hooks[hook] for hook in written})


def test_each_hook_with_a_constant_is_known() -> None:
    constants = set(re.findall(r"pub const ([A-Z]+): Self = Self\(\d+\)", MECHANISM)) - {"NONE"}
    assert set(watched().values()) == constants


def test_every_mechanism_watches_the_hooks_that_it_implements() -> None:
    found, seen = {}, 0
    for file in sorted(MODELS.rglob("*.rs")):
        for name, block in blocks(file.read_text("utf-8")).items():
            if name != "Mechanism":  # The enum of all mechanisms calls through.
                seen += 1
                found[f"{file.name}: {name}"] = mistakes(block)
    assert seen > 15
    assert {name: list for name, list in found.items() if list} == {}


def test_a_hook_that_is_not_watched_is_found() -> None:
    block = """    fn watches(&self) -> Watches {
        Watches::ENQUEUE
    }
    fn on_enqueue(&mut self) {}
    fn on_link(&mut self) {}
"""
    assert mistakes(block) == ["on_link without LINK"]
    assert mistakes(block.replace("fn on_enqueue", "fn on_timer")) == ["on_link without LINK", "ENQUEUE"]
