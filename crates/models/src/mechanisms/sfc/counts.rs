//! Counts of Source Flow Control.

use crate::parts::count::Count;

pub(super) const MESSAGES: Count = Count::number("messages", "SFC messages");

pub(super) const RESUMES: Count = Count::number("resumes", "SFC resumes");

pub(super) const ABOVE: Count = Count::time("above_threshold_ps", "above the SFC threshold");

pub(super) const ABOVE_AFTER_PAUSE: Count =
    Count::time("above_threshold_after_pause_ps", "above the SFC threshold after a pause");

pub(super) const IDLE: Count = Count::time("egress_idle_paused_ps", "egress idle behind SFC pauses");

pub(super) const PROXY_PAUSES: Count = Count::number("proxy_pauses", "pauses by SFC proxies");

pub(super) const ISOLATED: Count = Count::number("isolated_flows", "flows isolated by SFC proxies");
