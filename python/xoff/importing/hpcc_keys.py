"""The keys of the settings of the HPCC family, and what the programs and xoff do with each."""

from __future__ import annotations

MAPS = ("KMIN_MAP", "KMAX_MAP", "PMAX_MAP")
_OUTPUTS = (
    *("TRACE_FILE", "TRACE_OUTPUT_FILE", "FCT_OUTPUT_FILE", "PFC_OUTPUT_FILE", "QLEN_MON_FILE", "QLEN_MON_START"),
    *("QLEN_MON_END", "ENABLE_TRACE", "FLOW_INPUT_FILE", "CNP_OUTPUT_FILE", "VOQ_MON_FILE", "VOQ_MON_DETAIL_FILE"),
    *("UPLINK_MON_FILE", "CONN_MON_FILE", "EST_ERROR_MON_FILE", "SW_MONITORING_INTERVAL"),
)
# Settings whose value does not matter, and the note on each.
WITHOUT_EFFECT = {
    **dict.fromkeys(_OUTPUTS, "in xoff `[probe]` chooses the recorded data, and `xoff run --out` the place"),
    **dict.fromkeys(("DATA_RATE", "LINK_DELAY", "LOAD"), "has no effect in the original"),
    "TOPOLOGY_FILE": "the topology of the command line is used",
    "FLOW_FILE": "the flows of the command line are used",
    "USE_DYNAMIC_PFC_THRESHOLD": "ignored: thresholds always follow the free buffer, as in the original",
    "L2_CHUNK_SIZE": "has an effect with L2_BACK_TO_ZERO, or an L2_ACK_INTERVAL above 1",
    "FLOWGEN_STOP_TIME": "ignored: the run ends when all flows of the file are done",
}
# Settings of which xoff models one value, and the note on other values.
ONE_VALUE = {
    "L2_ACK_INTERVAL": ("1", "xoff acknowledges every packet"),
    "L2_BACK_TO_ZERO": (
        "0",
        "after a loss the sender of xoff goes back to the lost packet, not to the beginning of the chunk",
    ),
    "RATE_BOUND": ("1", "xoff paces flows"),
}
CONTROLS: dict[int, tuple[str, dict[str, str]]] = {
    1: (
        "dcqcn",
        {
            "EWMA_GAIN": "g",
            "ALPHA_RESUME_INTERVAL": "alpha_interval",
            "RATE_DECREASE_INTERVAL": "decrease_interval",
            "RP_TIMER": "increase_interval",
            "FAST_RECOVERY_TIMES": "fast_recovery_steps",
            "RATE_AI": "additive_increase",
            "RATE_HAI": "hyper_increase",
            "MIN_RATE": "minimum_rate",
            "CLAMP_TARGET_RATE": "clamp_target",
        },
    ),
    3: (
        "hpcc",
        {"U_TARGET": "eta", "MI_THRESH": "max_stage", "RATE_AI": "additive_increase", "MIN_RATE": "minimum_rate"},
    ),
    10: (
        "hpcc_pint",
        {
            "U_TARGET": "eta",
            "MI_THRESH": "max_stage",
            "RATE_AI": "additive_increase",
            "MIN_RATE": "minimum_rate",
            "PINT_PROB": "probability",
        },
    ),
    7: ("timely", {"RATE_AI": "additive_increase", "RATE_HAI": "hyper_increase", "MIN_RATE": "minimum_rate"}),
    8: ("dctcp", {"EWMA_GAIN": "g", "DCTCP_RATE_AI": "additive_increase", "MIN_RATE": "minimum_rate"}),
}
"""Congestion controls by CC_MODE: the key in a scenario, and the settings."""
NAMES = {1: "DCQCN", 3: "HPCC", 7: "TIMELY", 8: "DCTCP", 10: "HPCC-PINT"}
# Without a congestion control; the programs take any other number for this one as well.
NONE = 0
# The modes in which hosts react to marks.
MARKED = {1, 8}
# The values that xoff models for controls with a window or telemetry, and the note on other values.
VARIANTS = {
    "HAS_WIN": ("1", "flows have a window in xoff"),
    "VAR_WIN": ("1", "the window follows the rate in xoff, and is constant in the original"),
    "GLOBAL_T": ("1", "in xoff all flows have the longest round trip of the network"),
    "FAST_REACT": ("1", "in xoff each ACK changes the rate"),
    "MULTI_RATE": ("0", "in xoff a flow has one rate, not one for each hop"),
    "SAMPLE_FEEDBACK": ("0", "xoff uses the telemetry of every packet"),
}
# The defaults in both programs.
DEFAULTS = {
    "HAS_WIN": "1",
    "VAR_WIN": "0",
    "GLOBAL_T": "1",
    "FAST_REACT": "1",
    "MULTI_RATE": "1",
    "SAMPLE_FEEDBACK": "0",
}
WINDOW = ("HAS_WIN", "VAR_WIN", "GLOBAL_T")
# Only the algorithm of HPCC reads these; HPCC-PINT reacts to each ACK.
OF_HPCC = ("FAST_REACT", "MULTI_RATE", "SAMPLE_FEEDBACK")
BALANCING = {
    0: ("ECMP", ""),
    2: ("DRILL", "drill"),
    3: ("CONGA", "conga"),
    6: ("LetFlow", "flowlet"),
    9: ("ConWeave", "conweave"),
}
CONWEAVE = {
    "CONWEAVE_TX_EXPIRY_TIME": "expiry",
    "CONWEAVE_REPLY_TIMEOUT_EXTRA": "reply_slack",
    "CONWEAVE_EXTRA_VOQ_FLUSH_TIME": "flush_slack",
    "CONWEAVE_PATH_PAUSE_TIME": "path_pause",
    "CONWEAVE_DEFAULT_VOQ_WAITING_TIME": "flush_default",
}
OF_CONTROLS = (
    *dict.fromkeys(key for _, keys in CONTROLS.values() for key in keys),
    *("FAST_REACT", "MULTI_RATE", "SAMPLE_FEEDBACK", "INT_MULTI", "PINT_LOG_BASE"),
)
# All keys, and the number of words after each; maps give their own number.
WORDS = dict.fromkeys(
    (
        *WITHOUT_EFFECT, *ONE_VALUE, *OF_CONTROLS, *WINDOW, *CONWEAVE, "ENABLE_QCN", "ENABLE_PFC", "ENABLE_IRN",
        "PACKET_PAYLOAD_SIZE", "SIMULATOR_STOP_TIME", "FLOWGEN_START_TIME", "CC_MODE", "LB_MODE", "BUFFER_SIZE",
        "RANDOM_SEED", "ERROR_RATE_PER_LINK", "ACK_HIGH_PRIO", "PAUSE_TIME",
    ), 1,
) | {"LINK_DOWN": 3}  # fmt: skip
# Settings that are 0 or 1.
FLAGS = (
    *("ENABLE_QCN", "ENABLE_PFC", "ENABLE_IRN", "USE_DYNAMIC_PFC_THRESHOLD", "ACK_HIGH_PRIO", "CLAMP_TARGET_RATE"),
    *("L2_BACK_TO_ZERO", "RATE_BOUND", "FAST_REACT", "MULTI_RATE", "SAMPLE_FEEDBACK", *WINDOW),
)
