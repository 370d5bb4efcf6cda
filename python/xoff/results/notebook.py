"""Tables in notebooks: IPython shows an Arrow table, such as `result.flows`, as the first and last rows in HTML."""

from __future__ import annotations

import html
import sys
from typing import Any

_ENDS = 5


def register() -> None:
    """Registers the HTML of Arrow tables with the running IPython, if there is one."""
    module = sys.modules.get("IPython")
    shell: Any = module.get_ipython() if module is not None and hasattr(module, "get_ipython") else None
    if shell is not None:
        shell.display_formatter.formatters["text/html"].for_type_by_name("pyarrow.lib", "Table", table_html)


def table_html(table: Any) -> str:
    """Returns an Arrow table as HTML: all rows of a short table, otherwise the first and the last rows."""
    count = table.num_rows
    shown = list(range(count)) if count <= 2 * _ENDS else [*range(_ENDS), *range(count - _ENDS, count)]
    head = "".join(f"<th>{html.escape(name)}</th>" for name in ["", *table.column_names])
    body, before = [], -1
    for row, values in zip(shown, table.take(shown).to_pylist(), strict=True):
        if row > before + 1:
            body.append(f"<tr><td>…</td><td colspan='{table.num_columns}'>…</td></tr>")
        cells = "".join(f"<td>{html.escape(_text(value))}</td>" for value in values.values())
        body.append(f"<tr><th>{row}</th>{cells}</tr>")
        before = row
    caption = f"<caption>{count:,} rows, {table.num_columns} columns</caption>"
    return f"<table>{caption}<thead><tr>{head}</tr></thead><tbody>{''.join(body)}</tbody></table>"


def _text(value: Any) -> str:
    if value is None:
        return "–"
    return f"{value:.4g}" if isinstance(value, float) else str(value)
