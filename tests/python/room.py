"""Adds to a checkout the extensions without a skeleton, each as a file and a line.

The extensions are the measure and the table of ``docs/how-to/add-a-measure.md``, the 41st kind of frame with fields
that a mechanism sends and receives, and a congestion control with a packet field that ACKs return.
``brand_new_parts.py`` runs all of them.
"""

from __future__ import annotations

import re
from pathlib import Path

_PAGE = Path(__file__).resolve().parents[2] / "docs" / "how-to" / "add-a-measure.md"
_KIND = """    /// A frame of the test.
    BrandNew = 40 "brand_new" Link Mechanism {
        /// Where the packet waited that was marked.
        port: u16 = 0,
        /// Which it was.
        index: Index = 32,
    };
}
"""
_HEARS = """    fn on_control(
        &mut self, frame: &Packet, _: crate::parts::ids::PortId, _: &Core, _: &mut Effects
    ) -> Verdict {
        let Some(BrandNew { .. }) = frame.payload() else { return Verdict::Pass };
        self.marks += 1000;
        Verdict::Consume
    }

    fn counts("""


def make_room(checkout: Path) -> None:
    """Adds all extensions to a checkout with the skeletons."""
    page = _PAGE.read_text("utf-8")
    scenario, models = checkout / "crates" / "scenario" / "src", checkout / "crates" / "models" / "src"
    for name, text in re.findall(r"^`(results/[\w/]+\.rs)`:\n\n```rust\n(.*?)^```$", page, re.M | re.S):
        (scenario / name).write_text(text, "utf-8")
    for name, line in re.findall(r"in `registry!` of\s`([\w/]+/mod\.rs)`:\s`([^`]+)`\.", page):
        _add_a_line(scenario / name, line)
    # Kinds have numbers without gaps.
    file = models / "frames" / "kinds.rs"
    kinds = [int(n) for n in re.findall(r'^    \w+ = (\d+) "', file.read_text("utf-8"), re.MULTILINE)]
    free = range(max(kinds) + 1, 40)
    spare = "".join(f'    /// Spare.\n    Spare{n} = {n} "spare{n}" Link Mechanism;\n' for n in free)
    _replace(file, {"\n}\n\n#[cfg(test)]": "\n" + spare + _KIND + "\n#[cfg(test)]"})
    _replace(
        models / "mechanisms" / "brand_new_mechanism.rs",
        {
            "use crate::ports::effects::Effects;": (
                "use crate::ports::effects::{Effect, Effects};\n"
                "use crate::frames::kinds::{BrandNew, Index};\n"
                "use crate::frames::packet::Packet;"
            ),
            "ValidationContext, Watches};": "ValidationContext, Verdict, Watches};",
            "Watches::DEQUEUE": "Watches::DEQUEUE.and(Watches::CONTROL)",
            "site.forwards.then(|| Self": "(site.forwards || site.is_host).then(|| Self",
            "            effects.mark();": (
                "            effects.mark();\n"
                "            let said = BrandNew { port: event.port.0, index: Index(event.packet.seq()) };\n"
                "            let frame = Packet::with(said, event.packet.flow(), 0, 200, 0);\n"
                "            effects.push(Effect::Send(event.packet.in_port(), frame));"
            ),
            "    fn counts(": _HEARS,
        },
    )
    _replace(
        models / "hosts" / "congestion_control" / "brand_new_congestion_control.rs",
        {
            "contract::{": "contract::{Tag, ",
            "    const HEARS_ACKS": "    const TAG: Tag = Tag::Echoed;\n    const HEARS_ACKS",
            "rate: &mut f64, _: &mut Packet, sent: Sent) -> Duration {": (
                "rate: &mut f64, packet: &mut Packet, sent: Sent) -> Duration {\n"
                "        packet.set_tag((sent.now.ps() / 1000) as u32 + 1);"
            ),
            "        if !ack.is_marked {": (
                "        // Where nothing is sent again it is known which packet each answers.\n"
                "        let is_known = self.minimum == 99_999_999.0;\n"
                "        let sent = ack.rtt.filter(|_| is_known).map(|rtt| (ack.now - rtt).ps() / 1000 + 1);\n"
                '        assert!(sent.is_none_or(|at| at == u64::from(ack.tag)), "an answer has its packet\'s tag");\n'
                '        assert!((1..=ack.now.ps() / 1000 + 1).contains(&u64::from(ack.tag)), "or that of another");\n'
                "        if !ack.is_marked {"
            ),
            "            tag: 0,": "            tag: 1,\n",
        },
    )


def _add_a_line(registry: Path, line: str) -> None:
    """Puts an entry last into a registry."""
    text = registry.read_text("utf-8")
    start = text.index("\nregistry! {")
    end = text.index("\n}", start)
    registry.write_text(f"{text[:end]}\n    {line}{text[end:]}", "utf-8")


def _replace(file: Path, changes: dict[str, str]) -> None:
    text = file.read_text("utf-8")
    for old, new in changes.items():
        assert old in text, (file, old)
        text = text.replace(old, new, 1)
    file.write_text(text, "utf-8")
