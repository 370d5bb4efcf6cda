"""The small scenario of the tests as a text, and the type of the fixture that runs the command."""

from __future__ import annotations

import subprocess
from collections.abc import Callable
from typing import TypeAlias

Command: TypeAlias = Callable[..., "subprocess.CompletedProcess[str]"]

TOML = """
name = "small"
seed = 7

[network.star]
hosts = 4
link = { rate = "100Gbps", delay = "1us" }

[framing]
payload = "1000B"

[switch]
buffer = { per_port = "200KB" }

[switch.flow_control.pfc]

[[workload]]
name = "incast"
incast = { senders = [1, 2, 3], receiver = 0, size = "100KB" }
"""
