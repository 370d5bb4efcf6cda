"""Files of switches are untrusted: a damaged folder ends in one message and exit code 2."""

from __future__ import annotations

import json
import os
import random
import re
from pathlib import Path

import pytest

import xoff
from small import Command
from sonic_cases import Tables, changed, switch, write

PORTS = "Ethernet0,Ethernet4,Ethernet8,Ethernet12"
UNSEEN = "\x1b[31m\u202e\x07\u2066\x9b"


def refusal(command: Command, directory: Path, *options: str | Path) -> str:
    done = command("check", "--sonic", directory, *options)
    assert done.returncode == 2, done.stdout
    assert done.stdout == ""
    assert done.stderr.count("\n") == 1, done.stderr
    assert not re.search("[\x00-\x09\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]", done.stderr)
    return done.stderr


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("", "is not JSON"),
        ("[]", "is not a JSON object of tables"),
        ('{"PORT": NaN}', "NaN is not a JSON value"),
        ('{"PORT": {"a": {"mtu": Infinity}}}', "Infinity is not a JSON value"),
        ('{"PORT": {"a": {}, "a": {}}}', "`a` is there twice"),
        ('{"PORT": []}', "PORT: is a list; an object of entries is needed"),
        ('{"PORT": {"Ethernet0": 1}}', "PORT|Ethernet0: is a number; an object of fields is needed"),
        ('{"PORT": {"Ethernet0": {"mtu": 9100}}}', "PORT|Ethernet0: mtu: is a number; a text is needed"),
        ('{"PORT": {"Ethernet0": {"mtu": "many"}}}', "mtu: `many` is not a whole number from 68 to 9216"),
        ('{"PORT": {"Ethernet0": {"speed": "²"}}}', "speed: `²` is not a whole number"),
        ('{"PORT": {"Ethernet0": {"mtu": ' + "9" * 5000 + "}}}", "a number is too long"),
        ("[" * 100_000, "is nested too deeply"),
        ('{"DEVICE_METADATA": {"localhost": {"hostname": "../../etc"}}}', "hostname: `../../etc` is not a name"),
        ('{"DEVICE_METADATA": {"localhost": {"switch_type": "voq"}}}', "voq chassis are not modelled"),
        ('{"BUFFER_PG": {"Ethernet0|3": {"profile": "NULL"}}}', "PORT has no entry `Ethernet0`"),
        ('{"BUFFER_PG": {"Ethernet0": {"profile": "NULL"}}}', "the key is not PORT|N"),
        ('{"BUFFER_PG": {"Ethernet0|0-99": {"profile": "NULL"}}}', "the key is not PORT|N"),
    ],
)
def test_a_damaged_file_is_refused(xoff_here: Command, tmp_path: Path, text: str, says: str) -> None:
    (tmp_path / "fabric").mkdir()
    (tmp_path / "fabric/leaf0.json").write_text(text, "utf-8")
    said = refusal(xoff_here, tmp_path / "fabric")
    assert says in said
    assert "fabric/leaf0.json" in said


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        (("BUFFER_PROFILE/p", {"pool": "p"}), "BUFFER_POOL has no entry `p`"),
        (("BUFFER_PROFILE/p", {"pool": "[BUFFER_PROFILE|p]"}), "refers to BUFFER_PROFILE; an entry of BUFFER_POOL"),
        (("BUFFER_PG/Ethernet0|7", {"profile": "[BUFFER_PG|Ethernet0|7]"}), "an entry of BUFFER_PROFILE is needed"),
        (("BUFFER_PG/Ethernet0|3", {"profile": "ingress_lossy_profile"}), "Ethernet0|3 is also in"),
        (("BUFFER_PROFILE/egress_lossy_profile/static_th", "1"), "dynamic_th and static_th are both given"),
        (("BUFFER_PROFILE/egress_lossy_profile/dynamic_th", "9"), "`9` is not a whole number from -8 to 7"),
        (("DEVICE_NEIGHBOR/Ethernet0/name", "leaf0"), "leaf0 is its own neighbour"),
        (("DEVICE_NEIGHBOR/Ethernet0/name", "a/b"), "`a/b` is not a name"),
        (("DEVICE_NEIGHBOR/x", {"name": "host9", "local_port": "Ethernet0"}), "`Ethernet0` has two neighbours"),
        (("CABLE_LENGTH/B", {"Ethernet0": "5m"}), "40m is given in another set"),
        (("CABLE_LENGTH/AZURE/Ethernet0", "40"), "`40` is not a length in metres"),
        (("DSCP_TO_TC_MAP/AZURE/64", "1"), "is not a number from 0 to 63"),
        (("PFC_WD/Ethernet0,nowhere", {"action": "drop"}), "PORT has no entry `nowhere`"),
        (("QUEUE/Ethernet0|3", {"wred_profile": "X"}), "WRED_PROFILE has no entry `X`"),
    ],
)
def test_a_damaged_entry_is_refused(xoff_here: Command, tmp_path: Path, changes: tuple[str, object], says: str) -> None:
    tables = changed(switch(), changes)
    assert says in refusal(xoff_here, write(tmp_path / "fabric", {"leaf0": tables}))


def test_a_hundred_thousand_keys_are_refused_or_left_out(xoff_here: Command, tmp_path: Path) -> None:
    many = {str(at): {"speed": "1"} for at in range(10**5)}
    directory = write(tmp_path / "fabric", {"leaf0": {"PORT": many}})
    assert "PORT: has 100,000 entries; at most 16,384 are allowed" in refusal(xoff_here, directory)
    write(directory, {"leaf0": {"DSCP_TO_TC_MAP": {"M": dict.fromkeys(map(str, range(10**5)), "1")}}})
    assert "has 100,000 fields" in refusal(xoff_here, directory)
    # Entries of a table that xoff does not read.
    write(directory, {"leaf0": switch() | {"ACL_RULE": {str(at): {} for at in range(10**5)}}})
    done = xoff_here("check", "--sonic", directory)
    assert (done.returncode, done.stderr) == (0, "")
    assert "not read: ACL_RULE" in done.stdout


def test_folders_without_switches_are_refused(xoff_here: Command, tmp_path: Path) -> None:
    assert "cannot be read" in refusal(xoff_here, tmp_path / "missing")
    (tmp_path / "empty").mkdir()
    assert "has no NAME.json" in refusal(xoff_here, tmp_path / "empty")
    (tmp_path / "file").write_text("")
    assert "cannot be read" in refusal(xoff_here, tmp_path / "file")
    os.mkfifo(tmp_path / "empty/leaf0.json")
    assert "is not a regular file" in refusal(xoff_here, tmp_path / "empty")


def test_large_files_are_refused(xoff_here: Command, tmp_path: Path) -> None:
    (tmp_path / "fabric").mkdir()
    with (tmp_path / "fabric/leaf0.json").open("wb") as file:
        file.truncate(2**40)
    assert "is larger than" in refusal(xoff_here, tmp_path / "fabric")


def test_two_switches_of_one_name_are_refused(xoff_here: Command, tmp_path: Path) -> None:
    assert "a second switch leaf0" in refusal(xoff_here, write(tmp_path / "fabric", {"a": switch(), "b": switch()}))


@pytest.mark.slow
def test_signs_of_a_file_reach_no_terminal(xoff_here: Command, tmp_path: Path) -> None:
    texts = json.dumps(switch(1))
    for number, found in enumerate(re.finditer(r'"([^"]+)"', texts)):
        text = texts[: found.end(1)] + json.dumps(UNSEEN)[1:-1] + texts[found.end(1) :]
        directory = tmp_path / f"fabric{number}"
        directory.mkdir()
        (directory / "leaf0.json").write_text(text, "utf-8")
        done = xoff_here("check", "--sonic", directory)
        assert done.returncode in {0, 1, 2}
        assert not re.search("[\x00-\x09\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]", done.stdout + done.stderr)


@pytest.mark.parametrize("seed", range(4))
def test_damaged_values_are_checked_or_refused(xoff_here: Command, tmp_path: Path, seed: int) -> None:
    draw = random.Random(f"sonic {seed}")
    values = ["", "x", "-1", "0", "7", "65536", "NULL", "on", "true", "3,4", "3,3", "9" * 18, "[PORT|Ethernet0]", "²"]
    for number in range(25):
        tables: Tables = switch()
        for _ in range(draw.randint(1, 3)):
            table = draw.choice(list(tables))
            entries = tables[table]
            if entries and (entry := entries[draw.choice(list(entries))]):
                entry[draw.choice(list(entry))] = draw.choice(values)
        directory = write(tmp_path / str(number), {"leaf0": tables})
        done = xoff_here("check", "--sonic", directory)
        assert done.returncode in {0, 1, 2}, done.stderr
        assert done.stderr.count("\n") == (done.returncode == 2), done.stderr
        out = tmp_path / f"out{number}"
        done = xoff_here("import", "sonic", directory, "--out", out)
        assert done.returncode in {0, 2}, done.stderr
        if done.returncode == 2:
            assert done.stderr.count("\n") == 1, done.stderr
            assert not out.exists()
        else:
            xoff.check(str(out / "scenario.toml"))


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("cell = true", "cell: is not a whole number"),
        ("cell = 0", "cell: 0 is not from 32"),
        ("colour = 1", "`colour` is no key of a chip"),
        ('base = "x"', "base: is no chip"),
        ('resume = "never"', "is none of offset, xon"),
        ("cell = ", "is not TOML"),
    ],
)
def test_a_damaged_chip_is_refused(xoff_here: Command, tmp_path: Path, text: str, says: str) -> None:
    (tmp_path / "asic.toml").write_text(text)
    directory = write(tmp_path / "fabric", {"leaf0": switch()})
    assert says in refusal(xoff_here, directory, "--asic", tmp_path / "asic.toml")
    assert "is no chip" in refusal(xoff_here, directory, "--asic", "pentium")


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("100000 40m 1 2", "is not: speed cable size"),
        ("100000 40 1 2 3 0", "is not: speed cable size"),
        ("x 40m 1 2 3 0", "is not a whole number"),
        ("100000 40m 1 2 3 -", "threshold: `-` is not"),
        ("100000 40m 1 2 3 0\n100000 40m 1 2 3 0", "100000 40m is there twice"),
        ("# nothing", "has no rows"),
    ],
)
def test_a_damaged_lookup_table_is_refused(xoff_here: Command, tmp_path: Path, text: str, says: str) -> None:
    (tmp_path / "lookup.ini").write_text(text)
    directory = write(tmp_path / "fabric", {"leaf0": switch()})
    assert says in refusal(xoff_here, directory, "--lookup", tmp_path / "lookup.ini")


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("mlnx_qos --pfc 0,0", "is not eight flags"),
        ("mlnx_qos --trust wish", "neither dscp nor pcp"),
        ("cma_roce_tos", "needs -t TOS"),
        ("dce_tcp_g 1024", "not a whole number from 0 to 1023"),
        ("dce_tcp_g 0", "0 is not from 1 to 1023"),
        ("what?", "is no setting"),
        ("rpg_gd 11\nrpg_gd 11", "rpg_gd is there twice"),
        ("mlnx_qos 'x", "quotation mark"),
    ],
)
def test_damaged_settings_of_an_adapter_are_refused(xoff_here: Command, tmp_path: Path, text: str, says: str) -> None:
    (tmp_path / "nic.txt").write_text(text)
    directory = write(tmp_path / "fabric", {"leaf0": switch()})
    assert says in refusal(xoff_here, directory, "--adapter", tmp_path / "nic.txt")


def test_options_of_sonic_need_a_folder(xoff_here: Command, tmp_path: Path) -> None:
    done = xoff_here("check", "--asic", "tomahawk", tmp_path / "x.toml")
    assert (done.returncode, done.stderr) == (2, "xoff: error: --asic: needs --sonic\n")
    done = xoff_here("check")
    assert (done.returncode, done.stderr) == (2, "xoff: error: no scenario: give FILE, or --sonic DIR\n")
