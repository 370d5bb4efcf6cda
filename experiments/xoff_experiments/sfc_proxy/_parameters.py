"""Parameters of the document on SFC's proxy mode: given values and our choices."""

from __future__ import annotations

from xoff.reproduce import Parameter, chosen, given

_SETUP = "System Configuration in NS3"
_BACKUP = "Flow Control / Congestion Control Configurations"
PARAMETERS: list[Parameter] = [
    given("network", "320 hosts at 100 Gb/s; 20 ToR, 20 aggregation, 16 core switches at 400 Gb/s", _SETUP),
    given("link delay, packets, round trip", "1 µs, 1 KB, 12 µs", _SETUP),
    given("buffer, PFC", "32 MB, dynamic threshold", _BACKUP),
    given("SFC", "1000 KB trigger, 200 KB target, pause and resume messages", _BACKUP),
    given("DCQCN", "5 steps, gain 1/256, AI 50 and HAI 100 Mb/s, CNP period 4 µs, window of a BDP", _BACKUP),
    given("ECN", "200 KB to 800 KB", _BACKUP),
    chosen("congestion point", "queues to hosts", '"Congestion happens on DTOR"; no blocking at STOR', "every switch"),
    chosen(
        "hosts of an incast",
        "drawn anew for each, from half of each ToR (model 0) to all (model 3)",
        "as HPCC's traffic generator does; 8 % of the capacity cannot enter one receiver",
        "the same 120 senders, one of 40 receivers",
    ),
    chosen("length of a run", "arrivals for 1 ms, five seeds", "every flow is completed", "0.25 ms"),
    chosen("senders of an incast", "start at once", "an incast", "within 0.3 ms"),
    chosen("alpha", "1/2", "HPCC's value for ports of 400 Gb/s", "1/8, 1"),
    chosen("longest pause, interval", "3 ms, 0.1 ms", "a full buffer leaves a port in 2.6 ms", "1 ms; computed"),
    chosen("what a resume ends", "the pause of its flow", "SFCMs name flows", "that of the queue"),
    chosen("memory of paused destinations", "none", "the document has none", "one"),
    chosen("Pmax", "0.2", "HPCC's", "1"),
    chosen("unit of DCQCN's timers", "µs", "900 and 1", "rate timer of 55 µs"),
    chosen("shape", "5 pods of 4 ToR and 4 aggregation switches", "the public HPCC fat tree"),
]
