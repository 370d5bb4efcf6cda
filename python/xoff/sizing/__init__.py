"""The calculators of ``xoff size``: headroom of PFC, marking thresholds, buffers, and runs that measure them."""
