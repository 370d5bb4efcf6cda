"""Writes the reference of the checks of SONiC configurations from their registry."""

from __future__ import annotations

from xoff.sonic.checks.registry import CHECKS

_PAGE = """# Checks of SONiC configurations

`xoff check --sonic DIR` reads the `config_db.json` files of a folder, one file a switch, and names the settings that
would lose packets. [The how-to](../how-to/check-sonic.md) leads from a folder to a verdict, and
[the model](../models/sonic.md) describes chips, thresholds and headroom.

- **error**: the setting cannot work. Bytes exceed a memory, a class has no headroom, or a mark never comes. The exit
  code is 1.
- **warning**: the setting fails under a load that the message names.
- **note**: the setting has no effect, no port uses the row, or the setting fails only under a load that the file rules
  out. Notes and warnings never change the exit code.

A check whose input is missing is listed as `not checked`, and does not pass in silence. The same is true of a check
that depends on a property of a chip that xoff does not know. [Public configurations](sonic-configurations.md) shows the
checks on the configurations of sonic-buildimage.

`--json` prints an object with
`rows`, `unchecked`, `unread` and the chip of each of the `switches`. A row has the keys `id`, `level`, `switch`,
`port`, `table`, `key`, `field`, `value`, `required` (the value that would pass) and `why`.

In the text below, B is shared memory, α the factor of a dynamic threshold, and n the number of full lossless groups.

| check | level | fails when |
|---|---|---|
"""


def page() -> str:
    """Returns the page: a table of all checks, and a section for each."""
    lines = [_PAGE.rstrip()]
    lines += [
        f"| [{one.id}](#{one.id}) | {one.level} | {one.fails.partition('. ')[0].rstrip('.')}. |" for one in CHECKS
    ]
    for one in CHECKS:
        lines += [
            "",
            f"## {one.id}",
            "",
            f"*Level: {one.level}.*",
            "",
            f"- **Fails when.** {one.fails}",
            f"- **Effect.** {one.effect}",
            f"- **Remedy.** {one.remedy}",
            f"- **Source.** {one.source}",
        ]
    return "\n".join(lines) + "\n"
