"""Congestion controls in Python: equal to a control of xoff, refused without permission, and named when they fail."""

from __future__ import annotations

import json
import os
import signal
import socket
import struct
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import pytest

import xoff
from patience import PATIENCE_SECONDS, wait_until
from small import Command
from xoff import _core, running
from xoff.functions import Functions
from xoff.functions.control_server import serve
from xoff.study import metrics
from xoff.study.identity import run_key

LAWS = """
import os, time
from helper import GAIN


class Dctcp:
    echo = "ack"
    listens_to = "ecn"

    def __init__(self, line, flow, g=GAIN, minimum_rate=1e9):
        self.line = float(line.rate_bps)
        self.g, self.minimum = g, min(minimum_rate, self.line)
        self.additive = float(int(min(line.payload_bytes * 8e12 / line.round_trip_ps, self.line)))
        self.product = max(self.line * line.round_trip_ps / 8e12, 1.0)
        self.rate, self.alpha = self.line, 1.0
        self.marked = self.batch = self.until = 0
        self.cut_until = None
        self.window = self.product

    def on_ack(self, ack):
        self.marked += ack.is_marked
        is_full = ack.acknowledged > self.until
        if is_full:
            if self.until > 0:
                share = min(self.marked / self.batch, 1.0)
                self.alpha = (1.0 - self.g) * self.alpha + self.g * share
                self.marked = 0
            under_way = max(ack.next - ack.acknowledged, 0)
            self.batch = (under_way if self.until > 0 else ack.next) + 1
            self.until = ack.next
        if self.cut_until is not None and ack.acknowledged > self.cut_until:
            self.cut_until = None
        if ack.is_marked and self.cut_until is None:
            self.rate = max(self.rate * (1.0 - self.alpha / 2.0), self.minimum)
            self.cut_until = ack.next
        if is_full and self.cut_until is None:
            self.rate = min(self.rate + self.additive, self.line)
        self.window = max(self.product * self.rate / self.line, 1.0)


class Window:
    def __init__(self, line, flow, packets=4):
        self.window = packets * line.payload_bytes


class Forks(Window):
    def on_ack(self, ack):
        if not hasattr(self, "child"):
            self.child = os.fork()
            if self.child:
                os.waitpid(self.child, 0)
            else:
                self.window = 1


class Open:
    rate = window = None

    def __init__(self, line, flow):
        pass


class Timed:
    rate = 1e9

    def __init__(self, line, flow):
        self.timer_ps = 10_000_000

    def on_timer(self, now_ps):
        self.rate *= 2
        self.timer_ps = now_ps + 10_000_000 if self.rate < 8e9 else None


class Told:
    '''Writes the first of each event to a file.'''
    echo = "packet"
    echo_interval_ps = 5_000_000
    rate = 60e9

    def __init__(self, line, flow):
        self.known = set()
        self.tell("made", line, flow)

    def tell(self, *what):
        if what[0] not in self.known:
            self.known.add(what[0])
            with open("told", "a") as file:
                print(*what, file=file)

    def on_ack(self, ack):
        self.tell("ack", ack)

    def on_loss(self, kind, now_ps):
        self.tell(kind, now_ps)

    def on_notification(self, now_ps):
        self.tell("notification", now_ps)

    def on_sent(self, sent):
        self.tell("sent", sent)


class Faulty:
    rate = 50e9
    calls = 0

    def __init__(self, line, flow, what="", value=None):
        self.what, self.value = what, value
        if what == "init":
            self.rate = value

    def on_ack(self, ack):
        self.calls += 1
        if self.calls == 3:
            getattr(self, self.what)()

    def raises(self):
        return {}["no such key"]

    def forever(self):
        return sum(iter(int, 1))

    def sleeps(self):
        open("begun", "w").write("x")
        time.sleep(3600)

    def dies(self):
        os._exit(3)

    def crashes(self):
        os.kill(os.getpid(), 11)

    def sets_rate(self):
        self.rate = float(self.value)

    def sets_window(self):
        self.window = self.value

    def sets_timer(self):
        self.timer_ps = self.value


class Bare:
    def __init__(self, line, flow):
        self.rte = 5


class Misspelt:
    rate = 1e9

    def __init__(self, line, flow):
        pass

    def on_akc(self, ack):
        pass


class Loud:
    rate, echo = 1e9, "shout"


def function(line, flow):
    pass
"""

STAR = """
seed = 7

[network.star]
hosts = 5
link = { rate = "100Gbps", delay = "1us" }

[switch]
buffer = { per_port = "2MB" }
ecn = { step = { threshold = "30KB" } }

[host.transport.selective]

[host.congestion_control]
CONTROL

[[workload]]
incast = { senders = [1, 2, 3, 4], receiver = 0, size = "300KB" }
"""

RED = STAR.replace('{ step = { threshold = "30KB" } }', '{ red = { kmin = "5KB", kmax = "50KB", pmax = 0.3 } }')
LOSSES = STAR.replace('"2MB"', '"60KB"').replace('"30KB"', '"50KB"')
FABRIC = """
seed = 3

[network.leaf_spine]
leaves = 2
spines = 2
hosts_per_leaf = 3
link = { rate = "100Gbps", delay = "500ns" }

[switch]
buffer = { per_port = "300KB" }
ecn = { step = { threshold = "20KB" } }

[switch.flow_control.pfc]

[host.congestion_control]
CONTROL

[[workload]]
permutation = { size = "500KB" }

[[workload]]
incast = { senders = [1, 2, 3, 4], receiver = 5, size = "200KB" }
start = "20us"
"""
SCENARIOS = {"star": STAR, "red": RED, "losses": LOSSES, "fabric": FABRIC}
TABLES = ("flows", "links", "pauses", "queues", "drops")


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "laws.py").write_text(LAWS, "utf-8")
    (tmp_path / "helper.py").write_text("GAIN = 0.0625\n", "utf-8")
    return tmp_path


def written(place: Path, control: str, text: str = STAR) -> Path:
    file = place / "scenario.toml"
    file.write_text(text.replace("CONTROL", control), "utf-8")
    return file


def python(name: str, parameters: str = "") -> str:
    return f'python = {{ class = "laws:{name}", parameters = {{ {parameters} }} }}'


def refused(file: Path, timeout: float = 30.0) -> str:
    with pytest.raises(xoff.InputError) as caught:
        xoff.run(file, allow_python=True, python_timeout=timeout)
    assert "\n" not in str(caught.value)
    return str(caught.value)


def line(text: str) -> int:
    [found] = [number for number, one in enumerate(LAWS.splitlines(), 1) if text in one]
    return found


def assert_equal(one: xoff.Result, other: xoff.Result, *lacking: str) -> None:
    """Compares two results, without some columns of the flows."""
    assert one.fingerprint == other.fingerprint
    for name in TABLES:
        first, second = (
            getattr(result, name).drop_columns(lacking if name == "flows" else ()) for result in (one, other)
        )
        assert first.equals(second), name


@pytest.mark.parametrize("name", SCENARIOS)
def test_dctcp_in_python_is_dctcp_to_the_byte(place: Path, name: str) -> None:
    of_xoff = xoff.run(written(place, "dctcp = {}", SCENARIOS[name]))
    of_python = xoff.run(written(place, python("Dctcp"), SCENARIOS[name]), allow_python=True)
    assert_equal(of_python, of_xoff)
    marks = of_xoff.summary["dctcp"]["notifications"]
    assert of_python.summary["python"]["notifications"] == marks > 0
    assert metrics.metrics(json.loads(json.dumps(of_python.summary)))["python_notifications"] == marks
    other = xoff.run(written(place, python("Dctcp", "g = 0.5"), SCENARIOS[name]), allow_python=True)
    assert other.fingerprint != of_xoff.fingerprint


def test_the_answer_does_not_depend_on_threads_or_repeats(place: Path) -> None:
    file = written(place, python("Dctcp"), FABRIC)
    found = [xoff.run(file, allow_python=True, threads=threads) for threads in (1, 1, 4)]
    assert len({one.fingerprint for one in found}) == 1
    assert all(one.summary["performance"]["threads"] == 1 for one in found)


def test_overrides_have_classes_of_their_own(place: Path) -> None:
    more = '\n[[host.overrides]]\nhosts = ["host1", "host2"]\ncongestion_control = { OTHER }\n'
    text = STAR.replace("\n[[workload]]", f"{more}\n[[workload]]", 1)
    of_xoff = xoff.run(written(place, "dctcp = {}", text.replace("OTHER", "dctcp = { g = 0.5 }")))
    both = text.replace("OTHER", python("Dctcp", "g = 0.5"))
    assert_equal(xoff.run(written(place, python("Dctcp"), both), allow_python=True), of_xoff)
    mixed = xoff.run(written(place, "dctcp = {}", both), allow_python=True)
    assert_equal(mixed, of_xoff)
    assert mixed.summary["python"]["notifications"] > 0 < mixed.summary["dctcp"]["notifications"]
    message = refused(written(place, python("Dctcp"), text.replace("OTHER", python("Faulty", "what = 'raises'"))))
    assert message.startswith("host.overrides[0].congestion_control.python: `laws:Faulty.on_ack` raised KeyError")


def test_a_class_stands_beside_credit_of_receivers(place: Path) -> None:
    of_xoff = xoff.run(written(place, "dctcp = {}\nrccc = {}"))
    of_python = xoff.run(written(place, python("Dctcp") + "\nrccc = {}"), allow_python=True)
    assert_equal(of_python, of_xoff)
    assert of_xoff.fingerprint != xoff.run(written(place, "rccc = {}")).fingerprint


def test_a_signal_that_no_switch_gives_is_a_warning(place: Path) -> None:
    text = STAR.replace('ecn = { step = { threshold = "30KB" } }', "")
    [warning] = xoff.check(written(place, python("Dctcp"), text), allow_python=True)["warnings"]
    assert warning["path"] == "host.congestion_control.python"
    assert warning["message"].endswith("set switch.ecn")


def test_a_window_moves_a_window_in_a_round_trip(place: Path) -> None:
    text = STAR.replace('size = "300KB"', 'size = "400KB"').replace("senders = [1, 2, 3, 4]", "senders = [1]")
    result = xoff.run(written(place, python("Window", "packets = 4"), text), allow_python=True)
    [fct] = result.flows["fct_ps"].to_pylist()
    # 100 windows of 4 packets of 1000 bytes, and a round trip of 4 us of propagation and some 0.2 us of packets.
    assert 100 * 4.0e6 < fct < 100 * 4.4e6


def test_a_timer_calls_the_object(place: Path) -> None:
    text = STAR.replace("senders = [1, 2, 3, 4]", "senders = [1]").replace('size = "300KB"', 'size = "20KB"')
    result = xoff.run(written(place, python("Timed"), text), allow_python=True)
    [fct] = result.flows["fct_ps"].to_pylist()
    # 1, 2 and 4 Gb/s for 10 us each are 70,000 bits; the other 90,000 and headers take 11 us or more of 8 Gb/s.
    assert 40e6 < fct < 50e6


def test_an_object_is_told_of_each_event(place: Path) -> None:
    text = LOSSES.replace("[switch]", "[switch]\ntelemetry = {}\n").replace("selective", "go_back_n")
    xoff.run(written(place, python("Told"), text), allow_python=True)
    told = (place / "told").read_text("utf-8")
    for words in (
        "made Line(rate_bps=100000000000, round_trip_ps=",
        "Flow(size=300000, seed=",
        "ack Ack(bytes=",
        "telemetry=(Hop(node=",
        "sent Sent(bytes=",
        "reported ",
        "notification ",
    ):
        assert words in told, words
    seeds = {word for word in told.split() if word.startswith("seed=")}
    assert len(seeds) == 4


def test_explain_works_and_needs_no_second_run(place: Path, xoff_here: Command) -> None:
    file = written(place, python("Dctcp"))
    done = xoff_here("run", str(file), "--allow-python", "--set", "probe.delays=all", "--out", "result")
    assert done.returncode == 0, done.stderr
    done = xoff_here("explain", "result")
    assert done.returncode == 0, done.stderr
    assert "window full" in done.stdout
    done = xoff_here("run", str(file), "--allow-python", "--out", "bare")
    done = xoff_here("explain", "bare")
    assert done.returncode == 2
    assert "probe.delays=all" in done.stderr


def test_nothing_is_fast_forwarded_and_the_summary_names_the_reason(place: Path) -> None:
    text = STAR.replace('size = "300KB"', 'size = "3MB"').replace("[1, 2, 3, 4]", "[1]")
    of_xoff = xoff.run(written(place, "", text))
    of_python = xoff.run(written(place, python("Open"), text), allow_python=True)
    # Without a control no round trips are measured.
    assert_equal(of_python, of_xoff, "min_rtt_ps")
    forwarded = [one.summary["performance"]["fast_forward"] for one in (of_xoff, of_python)]
    assert forwarded[0]["packet_hops"] > 0 == forwarded[1]["packet_hops"]
    assert forwarded[1]["blockers"] == ["python"]


@pytest.mark.parametrize("words", [["run"], ["check"], ["run", "--json"]], ids=" ".join)
def test_nothing_is_imported_without_permission(place: Path, xoff_here: Command, words: list[str]) -> None:
    (place / "laws.py").write_text("open('imported', 'w').close()\n" + LAWS, "utf-8")
    written(place, python("Dctcp"))
    done = xoff_here(words[0], "scenario.toml", *words[1:])
    assert done.returncode == 2
    for text in ("host.congestion_control.python: `laws:Dctcp`", "--allow-python"):
        assert text in done.stderr
    assert done.stderr.count("\n") == 1
    assert not (place / "imported").exists()


def test_the_core_alone_checks_and_refuses_to_run(place: Path) -> None:
    prepared = running.prepare(written(place, python("Dctcp")), read=None)
    assert json.loads(_core.check(prepared.resolved, {}))["network"]["hosts"] == 5
    with pytest.raises(xoff.InputError, match=r"^host\.congestion_control\.python: `laws:Dctcp` is Python code"):
        _core.run(prepared.resolved, {}, 1)


def test_a_failing_method_is_one_message_and_leaves_no_result(place: Path, xoff_here: Command) -> None:
    written(place, python("Faulty", "what = 'raises'"))
    done = xoff_here("run", "scenario.toml", "--allow-python", "--out", "result")
    assert done.returncode == 2
    where = f"(laws.py, line {line('no such key')})"
    assert done.stderr.splitlines()[-1].endswith(
        f"host.congestion_control.python: `laws:Faulty.on_ack` raised KeyError: 'no such key' {where}"
    )
    assert "Traceback" not in done.stderr
    assert "panicked" not in done.stderr
    assert not [one for one in place.iterdir() if one.name.startswith((".result", "result"))]


@pytest.mark.parametrize(
    ("what", "value", "why"),
    [
        ("dies", "0", "on_ack` ended its process with exit code 3"),
        ("crashes", "0", "on_ack` ended its process with signal SIGSEGV"),
        ("sets_rate", "'nan'", "on_ack` leaves rate = nan; a finite number of at least 1000 bit/s, or None, is needed"),
        ("sets_rate", "'inf'", "on_ack` leaves rate = inf; a finite number"),
        ("sets_rate", "0", "on_ack` leaves rate = 0.0; a finite number"),
        ("sets_rate", "-5", "on_ack` leaves rate = -5.0; a finite number"),
        ("sets_window", "0", "on_ack` leaves window = 0; a finite number of at least 1 byte"),
        ("sets_window", "'x'", "on_ack` leaves window = 'x'; a finite number of at least 1 byte"),
        ("sets_window", "[1]", "on_ack` leaves window = [1]; a finite number of at least 1 byte"),
        ("sets_timer", "-1", "on_ack` leaves timer_ps = -1; a number of picoseconds"),
        ("init", "true", "__init__` leaves rate = True; a finite number"),
    ],
)
def test_a_wrong_attribute_or_a_crash_is_named(place: Path, what: str, value: str, why: str) -> None:
    message = refused(written(place, python("Faulty", f"what = '{what}', value = {value}")))
    assert message.startswith(f"host.congestion_control.python: `laws:Faulty.{why}")


@pytest.mark.parametrize(
    ("name", "parameters", "why"),
    [
        ("Bare", "", "Bare.__init__` sets neither `rate` nor `window`"),
        ("Misspelt", "", "Misspelt` has the method `on_akc`, which is never called; methods are on_ack, on_loss"),
        ("Loud", "", "Loud` cannot be called with (line, flow)"),
        ("function", "", "function` is no class, but of type function"),
        ("Nothing", "", "Nothing` is missing: `laws` has the classes Dctcp, Window"),
        ("Dctcp", "gain = 1", "Dctcp` cannot be called with (line, flow, gain): got an unexpected keyword"),
    ],
)
def test_a_wrong_class_is_refused_before_the_run(place: Path, name: str, parameters: str, why: str) -> None:
    file = written(place, python(name, parameters))
    assert refused(file).startswith(f"host.congestion_control.python: `laws:{why}")
    if "__init__" not in why:
        with pytest.raises(xoff.InputError):
            xoff.check(file, allow_python=True)


def test_the_table_is_checked_without_code(place: Path) -> None:
    for control, why in (
        ('python = { class = "../laws:X" }', "host.congestion_control.python.class: `../laws:X` is not of the form"),
        ('python = { class = "laws" }', "host.congestion_control.python.class: `laws` is not of the form module:Class"),
        (python("Dctcp", "flow = 1"), "host.congestion_control.python.parameters: flow: the class gets `flow`"),
        (python("Dctcp") + "\ndctcp = {}", "host.congestion_control: dctcp and python are given"),
    ):
        with pytest.raises(xoff.InputError) as caught:
            xoff.run(written(place, control))
        assert str(caught.value).startswith(why)
    message = refused(written(place, 'python = { class = "lows:Dctcp" }'))
    assert "`lows:Dctcp` is missing: no `lows.py` in" in message
    raw = STAR.replace("[host.transport.selective]", "[host.transport.raw]")
    assert "host.transport.raw returns no ACK" in refused(written(place, python("Faulty"), raw))


def test_a_method_that_does_not_return_is_interrupted_and_named(place: Path) -> None:
    message = refused(written(place, python("Faulty", "what = 'forever'")), timeout=1.0)
    assert message == (
        "host.congestion_control.python: `laws:Faulty.on_ack` did not return within 1 s and was interrupted at "
        f"laws.py, line {line('iter(int, 1)')}; --python-timeout SECONDS (python_timeout) sets the limit"
    )


def test_ctrl_c_ends_a_method(place: Path) -> None:
    file = written(place, python("Faulty", "what = 'sleeps'"))
    words = [str(Path(sys.executable).with_name("xoff")), "run", str(file), "--allow-python"]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    with subprocess.Popen(words, cwd=place, text=True, stderr=subprocess.PIPE, env=environment) as process:
        wait_until((place / "begun").exists, process)
        process.send_signal(signal.SIGINT)
        _, told = process.communicate()
    assert process.returncode == 130
    assert "Traceback" not in told


def test_a_fork_that_leaves_a_method_ends_and_answers_nothing(place: Path) -> None:
    # The object of the fork has another window, so that the run of a fork that answers differs.
    forked = xoff.run(written(place, python("Forks")), allow_python=True, python_timeout=PATIENCE_SECONDS)
    assert_equal(forked, xoff.run(written(place, python("Window")), allow_python=True))


def test_no_process_and_no_folder_is_left(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    kept = place / "tmp"
    kept.mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(kept))
    xoff.run(written(place, python("Dctcp")), allow_python=True)
    for what in ("crashes", "raises"):
        refused(written(place, python("Faulty", f"what = '{what}'")))
    assert list(kept.iterdir()) == []


def test_the_key_of_a_run_covers_the_code(place: Path) -> None:
    def key(control: str) -> str:
        with Functions(True) as functions:
            return run_key(running.prepare(written(place, control), functions=functions))

    known = key(python("Dctcp"))
    assert key(python("Dctcp")) == known
    assert key(python("Dctcp", "g = 0.5")) != known
    (place / "helper.py").write_text("GAIN = 0.125\n", "utf-8")
    assert key(python("Dctcp")) != known


def test_a_result_names_its_code_and_refuses_other_code(place: Path, xoff_here: Command) -> None:
    written(place, python("Dctcp"))
    first = xoff_here("run", "scenario.toml", "--allow-python", "--out", "result", "--json")
    scenario = json.loads((place / "result" / "scenario.json").read_text("utf-8"))
    declared = scenario["host"]["congestion_control"]["python"]["declared"]
    assert declared["methods"] == ["on_ack"]
    assert declared["echo"] == "ack"
    (place / "again.json").write_text(json.dumps(scenario), "utf-8")
    again = xoff_here("run", "again.json", "--allow-python", "--json")
    assert json.loads(again.stdout)["fingerprint"] == json.loads(first.stdout)["fingerprint"]
    (place / "laws.py").write_text(LAWS + "\n", "utf-8")
    again = xoff_here("run", "again.json", "--allow-python")
    assert again.returncode == 2
    assert "the code of `laws:Dctcp` is another than that of the result" in again.stderr


def test_parameters_are_axes_of_a_study_with_seeds(place: Path) -> None:
    written(place, python("Dctcp"), RED)
    study: dict[str, Any] = {
        "base": "scenario.toml",
        "seeds": 2,
        "axes": {"host.congestion_control.python.parameters.g": [0.0625, 0.5]},
    }
    found = xoff.sweep(study, out=place / "study", allow_python=True)
    assert len(found.plan.runs) == 4
    assert len({run.key for run in found.plan.runs}) == 4
    for run in found.plan.runs:
        assert found.store.failure(run.key) is None
    with pytest.raises(xoff.InputError, match="--allow-python"):
        xoff.sweep(study, out=place / "other")


def test_a_failure_in_a_study_names_the_method_and_is_tried_again(place: Path, xoff_here: Command) -> None:
    written(place, python("Faulty", "what = 'sets_rate', value = 5000000000.0"))
    key = "host.congestion_control.python.parameters.value"
    (place / "study.toml").write_text(f'base = "scenario.toml"\n\n[axes]\n"{key}" = [5e9, 0.0]\n', "utf-8")
    done = xoff_here("sweep", "study.toml", "--allow-python", "--out", "study")
    assert done.returncode not in {0, 130}
    assert "`laws:Faulty.on_ack` leaves rate = 0.0" in done.stderr + done.stdout


HALVING = """
class Halving:
    def __init__(self, line, flow):
        # A copy that is not deep would share the list.
        self.rates = [float(line.rate_bps)]

    @property
    def rate(self):
        return self.rates[-1]

    def on_loss(self, kind, now_ps):
        self.rates.append(self.rate / 2)
"""


def test_a_copy_is_deep_and_requests_may_arrive_in_parts(tmp_path: Path) -> None:
    names: dict[str, Any] = {}
    exec(HALVING, names)  # noqa: S102 (the text is ours)
    listener = socket.socket(socket.AF_UNIX)
    listener.bind(str(tmp_path / "s"))
    listener.listen(1)
    server = threading.Thread(target=serve, args=(listener, [(names["Halving"], {})], str))
    server.start()

    def request(kind: int, number: int, body: bytes) -> bytes:
        return struct.pack("<HBI", 7 + len(body), kind, number) + body

    start = struct.pack("<IQQQQQQIB", 0, 8 * 10**9, 4, 1, 1000, 48, 5000, 9, 0)
    loss = struct.pack("<?Q", False, 77)
    with socket.socket(socket.AF_UNIX) as client:
        client.connect(str(tmp_path / "s"))

        def rate(*parts: bytes) -> float:
            for part in parts:
                client.sendall(part)
            failed, found, _, _ = struct.unpack("<BdQQ", client.recv(25, socket.MSG_WAITALL))
            assert not failed
            return float(found)

        whole = request(0, 1, start)
        assert rate(*(whole[at : at + 1] for at in range(len(whole)))) == 8e9
        assert rate(request(2, 1, loss)) == 4e9
        assert rate(request(6, 2, struct.pack("<I", 1))) == 4e9
        assert rate(request(2, 2, loss)) == 2e9
        # The copy is gone, and the original has the rate of before.
        assert rate(request(7, 2, b"") + request(2, 1, loss)) == 2e9
    server.join()
    listener.close()
