"""The command ``xoff explain --request``: the parts of a request's time, and the packets that made a token late."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from xoff import formatting
from xoff._core import InputError
from xoff.insight import words
from xoff.insight.job_causes import CAUSE_OF, CAUSES, largest
from xoff.insight.serving_path import (
    Part,
    Serving,
    Steps,
    Stretch,
    gaps,
    pauses,
    stretch_by_owner,
    time_of_steps,
    workloads,
)
from xoff.insight.trees import Forest
from xoff.results import Result

_FEW_MESSAGES = 100_000
"""Up to so many messages ``xoff run`` follows the paths of steps, which takes some seconds."""

PARTS = {
    "reserve_queue_ps": "waiting for memory at decode",
    "prefill_queue_ps": "waiting for steps of prefill",
    "prefill_compute_ps": "prefill: computing",
    "prefill_exposed_ps": "prefill: messages on their way",
    "prefill_bubble_ps": "prefill: waiting for other ranks",
    "kv_queue_ps": "waiting until decode asked for the KV cache",
    "kv_exposed_ps": "KV cache on its way",
    "decode_queue_ps": "waiting for steps of decode",
    "decode_compute_ps": "decode: computing",
    "decode_exposed_ps": "decode: messages on their way",
    "decode_bubble_ps": "decode: waiting for other ranks",
}
"""The parts of a request's time, by column of the table `requests`."""
_KINDS = CAUSES | {
    "queue": "waiting for a step",
    "order": "report to the scheduler, and order",
    "own": "behind packets of the same step",
    "head": "behind the head of the input queue",
    "queueing": "behind packets of {owner}",
    "paused": "paused, with packets of {owner} at the root",
    "held": "held at the source by {owner}",
}
"""The parts of a path in words: kinds of parts, and causes of delays."""
_MOST = 11


@dataclass(frozen=True, slots=True)
class Late:
    """A token of a request, with the path since the token before."""

    token: int
    time_ps: int
    """Time since the token before, or from the arrival for token 0."""
    usual_ps: int
    """The median of these times of the request."""
    parts: list[Part]
    by_cause: Mapping[str, int]
    by_link: Mapping[tuple[str, int], int]
    """Waiting at an output."""
    stretch: Mapping[Stretch, int]

    def to_dict(self) -> dict[str, Any]:
        """Returns the token with the keys of ``xoff explain --request --json``."""
        return {
            "token": self.token,
            "time_ps": self.time_ps,
            "usual_ps": self.usual_ps,
            "by_cause": dict(self.by_cause),
            "by_link": [{"node": node, "port": port, "ps": ps} for (node, port), ps in self.by_link.items()],
            "stretch_ps": sum(self.stretch.values()),
            "stretch": [
                {"owner": one.owner, "cause": one.cause, "node": one.node, "port": one.port, "ps": ps}
                for one, ps in self.stretch.items()
            ],
            "path": [part.to_dict() for part in self.parts],
        }


def find(result: Result, asked: str) -> dict[str, Any]:
    """Returns the row of a request that is named as ``N``, or as ``NAME:N`` with several serving workloads.

    Raises `InputError` if there is no such request, or if the request has not ended.
    """
    if not (names := workloads(result)):
        raise InputError("--request: the result has no serving workload with requests")
    name, _, number = asked.rpartition(":")
    if not name and len(names) > 1:
        raise InputError(f"--request {asked}: several serving workloads; name one, such as {names[0]}:{asked}")
    name = name or names[0]
    rows = {row["request"]: row for row in result.requests.to_pylist() if row["workload"] == name}
    if name not in names or not number.isdecimal() or int(number) not in rows:
        raise InputError(f"--request {asked}: unknown request; {names[0]} has requests 0 to {max(rows, default=0)}")
    row: dict[str, Any] = rows[int(number)]
    if row["e2e_ps"] is None:
        raise InputError(f"--request {asked}: the request had not ended at the end of the run")
    return row


def latest(result: Result) -> str | None:
    """Returns the ended request with the longest time between two tokens, for a result of serving alone."""
    if "requests" not in result.tables or not result.requests.num_rows:
        return None
    names = workloads(result)
    others = [one for one in result.scenario["workload"] if "serving" not in one]
    rows = [row for row in result.requests.to_pylist() if row["e2e_ps"] is not None]
    if others or not rows:
        return None
    row = max(rows, key=lambda row: (row["itl_max_ps"] or 0, -row["request"]))
    return f"{row['workload']}:{row['request']}" if len(names) > 1 else str(row["request"])


def late(result: Result, request: Mapping[str, Any], token: int | None) -> tuple[Late | None, Forest | None]:
    """Returns a token of decode, or the latest, with the pauses of the run; None for a request without such a token.

    The result must have the delays of all flows.
    """
    steps = Steps(result, str(request["workload"]))
    made = steps.of(request)
    if not made:
        return None, None
    first = 0 if steps.makes_first else 1
    found = gaps(request, made, makes_first=steps.makes_first)
    found = found if first else [request["ttft_ps"], *found]
    if token is None:
        token = first + max(range(len(found)), key=lambda place: found[place])
    if not first <= token < first + len(found):
        most = first + len(found) - 1
        raise InputError(f"--token {token}: out of range; decode made the tokens {first} to {most} of the request")
    forest = pauses(result)
    serving = Serving(result, steps.name, forest, steps.window(request, token))
    parts = serving.token(request, token)
    unit = steps.unit(made[0]["slowest_rank"])
    usual = sorted(found)[len(found) // 2]
    causes, links = _sums(serving, parts, unit)
    return Late(token, found[token - first], usual, parts, causes, links, serving.stretch(parts, unit)), forest


def _sums(serving: Serving, parts: list[Part], unit: str) -> tuple[dict[str, int], dict[tuple[str, int], int]]:
    """Returns the time of a path by cause in words, and the waiting by output."""
    causes: dict[str, int] = defaultdict(int)
    links: dict[tuple[str, int], int] = defaultdict(int)
    for part in parts:
        rows = list(serving.causes(part, unit))
        if not rows:
            is_cut = part.message is not None and part.message["flow"] is not None
            kind = "sending" if is_cut else "nvlink" if part.message is not None else part.kind
            causes[_KINDS[kind]] += part.ps
        for row, stretch, ps in rows:
            causes[_in_words(row, stretch)] += ps
            if row["kind"] in {"queueing", "hol_blocking", "paused"}:
                links[row["node"], row["port"]] += ps
    return dict(largest(causes)), dict(largest(links))


def _in_words(row: Mapping[str, Any], stretch: Stretch | None) -> str:
    if stretch is not None:
        return _KINDS[stretch.cause].format(owner=stretch.owner)
    cause = CAUSE_OF.get(row["kind"], "queueing")
    if row["kind"] == "hol_blocking":
        return _KINDS["head"]
    return _KINDS["own" if cause in {"queueing", "paused"} else cause]


def answer(request: Mapping[str, Any], found: Late | None) -> dict[str, Any]:
    """Returns a request and a token with the keys of ``xoff explain --request --json``."""
    return {"request": dict(request), "token": None if found is None else found.to_dict()}


def show(request: Mapping[str, Any], found: Late | None, forest: Forest | None, *, everything: bool) -> None:
    """Prints the parts of a request's time, and of a token's."""
    from rich.markup import escape

    from xoff import display

    name = formatting.plain(f"{request['workload']}: request {request['request']}")
    tokens = f"{request['input_tokens']:,} tokens in, {request['output_tokens']:,} out"
    times = f"TTFT {formatting.time(request['ttft_ps'])}, E2E {formatting.time(request['e2e_ps'])}"
    display.out.print(f"[b]{escape(name)}[/b]: {tokens}; {times}", soft_wrap=True)

    def section(title: str, rows: Mapping[str, int], whole: int) -> None:
        words.show_sums(title, rows, whole, most=None if everything else _MOST, adds_up=True)

    parts = {text: request[key] for key, text in PARTS.items() if request[key]}
    section("from the arrival to the last token", parts, request["e2e_ps"])
    if found is None or forest is None:
        display.out.print("Decode made no token of the request.")
        return
    before = "the arrival" if found.token == 0 else "the token before"
    display.out.print(
        f"[b]token {found.token}[/b]: {formatting.time(found.time_ps)} after {before}; "
        f"the median of the request is {formatting.time(found.usual_ps)}",
        soft_wrap=True,
    )
    section("on the path of the token", found.by_cause, found.time_ps)
    if found.by_link:
        links = {words.place(node, port, forest.peers): ps for (node, port), ps in found.by_link.items()}
        section("waiting at", links, found.time_ps)
    stretched = sum(found.stretch.values())
    whose = ", ".join(dict.fromkeys(one.owner for one in found.stretch))
    text = f"Traffic of others stretched the token by {formatting.time(stretched)} ({whose})."
    display.out.print(escape(text if stretched else "No traffic of others stretched the token."), soft_wrap=True)


def stretch_answer(result: Result, table: pa.Table) -> dict[str, Any]:
    """Returns the stretch of steps with the keys of ``xoff explain --stretch --json``."""
    return {"steps_ps": time_of_steps(result), "stretch": table.to_pylist()}


def show_stretch(result: Result, table: pa.Table, forest: Forest, *, everything: bool) -> None:
    """Prints the stretch of steps by pool: whose traffic, in which way, and where."""
    from rich.markup import escape

    from xoff import display

    for name, pools in time_of_steps(result).items():
        for pool, whole in pools.items():
            sums: dict[tuple[str, str, str], int] = defaultdict(int)
            for row in table.to_pylist():
                if (row["workload"], row["phase"]) == (name, pool):
                    where = words.place(row["node"], row["port"], forest.peers)
                    sums[row["owner"], row["cause"], where] += row["time_ps"]
            shown = largest(sums)
            together = sum(sums.values())
            title = f"{name}: traffic of others stretched the steps of {pool} by {together / max(whole, 1):.2%}"
            display.out.print(f"[b]{escape(formatting.plain(title))}[/b]", soft_wrap=True)
            if not shown:
                continue
            lines = display.table("owner", "cause", "at", "µs", "share", right=(3, 4))
            for (owner, cause, where), ps in shown[: None if everything else _MOST]:
                cells = (escape(formatting.plain(text)) for text in (owner, cause, where))
                lines.add_row(*cells, words.micro(ps), f"{ps / max(whole, 1):.2%}")
            if not everything and len(shown) > _MOST:
                rest = sum(ps for _, ps in shown[_MOST:])
                text = f"{len(shown) - _MOST:,} others (all with --all)"
                lines.add_row(text, "", "", words.micro(rest), f"{rest / max(whole, 1):.2%}")
            display.out.print(lines)


def stretch_rows(result: Result) -> Iterator[tuple[str, str]]:
    """Yields for each pool of a serving workload how much the traffic of others stretched the steps.

    The result of ``xoff run`` without ``--out`` has no tables, and then the row names `xoff explain`.
    """
    if not any(one["steps"] for one in (result.summary.get("serving") or {}).values()):
        return
    if (result.scenario.get("probe") or {}).get("delays") != "all":
        yield "stretch of steps by others", 'not measured; set probe.delays = "all"'
        return
    if "messages" not in result.tables or result.table("messages").num_rows > _FEW_MESSAGES:
        yield "stretch of steps by others", "see xoff explain --stretch on the results of --out"
        return
    stretched = stretch_by_owner(result)
    for name, pools in time_of_steps(result).items():
        for pool, whole in pools.items():
            owners = stretched.get((name, pool), {})
            parts = ", ".join(f"{owner} {ps / whole:.2%}" for owner, ps in owners.items())
            text = f"{sum(owners.values()) / whole:.2%}" + (f" ({parts})" if parts else "")
            yield formatting.plain(f"{name}: stretch of steps of {pool} by others"), formatting.plain(text)
