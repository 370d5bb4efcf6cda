"""PFC with egress accounting under `voq`: a queue of an output may end the pause of another queue."""

import pytest

import xoff


@pytest.mark.parametrize("sizes", [("60KB", "10KB"), ("30KB", "300KB"), ("100KB", "20KB")])
def test_every_pause_is_taken_back(sizes: tuple[str, str]) -> None:
    result = xoff.run(
        {
            "network": {"star": {"hosts": 3, "link": {"rate": "100Gbps", "delay": "0ns"}}},
            "switch": {
                "queueing": "voq",
                "flow_control": {"pfc": {"xoff": "3KB", "xon": "1KB", "accounting": "egress"}},
            },
            "workload": [{"flows": [{"src": 1, "dst": 0, "size": sizes[0]}, {"src": 2, "dst": 0, "size": sizes[1]}]}],
            "until": "1ms",
        }
    )
    assert result.summary["flows"]["completed"] == 2
    assert all(row["end_ps"] is not None for row in result.pauses.to_pylist())
