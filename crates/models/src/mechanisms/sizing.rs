//! Calculators: PFC headroom, SFC headroom and the range of SFC pauses.
//! PFC headroom follows the steps of IEEE Std 802.1Q, Annex N: a frame in the way of the pause, the pause,
//! the cable both ways, the response time, and the frame that the neighbour has begun. The pipeline of the
//! pausing switch stands for Annex N's interface delays. The packet that crosses XOFF is added. A scenario's
//! own headroom has response time zero.
//! The SFC forms under `oq` are those of the SFC simulation document (parameter calculation, Parts 4 and 5).
//! The forms under `voq` follow from N equal inputs, each growing at (1 − 1/N)·C and draining at C/N.
//! Source: `docs/models/pfc.md` and `docs/models/sfc.md`.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use xoff_units::{Bytes, Duration, Propagation, Rate};

/// Inputs of the PFC headroom.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PfcRequest {
    /// Line rate.
    pub rate: Rate,
    /// Propagation of the link, or the link's length.
    #[serde(deserialize_with = "Propagation::time")]
    #[schemars(with = "Propagation")]
    pub link_delay: Duration,
    /// Fixed processing delay of the pausing switch.
    #[serde(default)]
    pub switch_delay: Duration,
    /// The largest frame of any class on the link.
    pub max_frame: Bytes,
    /// Bytes of a frame after which a cut-through switch counts the frame (`switch.cut_through.header`),
    /// where no output is faster than the link. Default: all bytes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cut_through: Option<Bytes>,
    /// Time until the neighbour obeys a pause.
    #[serde(default)]
    pub response_time: Duration,
    /// A pause frame.
    #[serde(default = "default_frame")]
    pub pause_frame: Bytes,
    /// Buffer of the port, for the threshold.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub buffer: Option<Bytes>,
}

fn default_frame() -> Bytes {
    Bytes(64)
}

/// Bytes that arrive in a step of a pause, from the packet that triggers the pause to the last packet in
/// flight.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Step {
    /// Name of the step.
    pub step: &'static str,
    /// Longest duration.
    pub time_ps: u64,
    /// Bytes that arrive in the step.
    pub bytes: u64,
}

/// PFC headroom and its parts.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct PfcSize {
    /// The steps of a pause, in order.
    pub steps: Vec<Step>,
    /// Bytes that arrive in all steps.
    pub headroom_bytes: u64,
    /// Buffer less headroom.
    pub xoff_bytes: Option<u64>,
    /// Problems of the sizes.
    pub warnings: Vec<String>,
}

/// Computes the headroom that keeps a port lossless: the bytes of a round trip, and those of frames.
/// `counted_after` is the number of bytes after which a frame is counted.
pub fn pfc_headroom(
    rate: Rate,
    link_delay: Duration,
    switch_delay: Duration,
    max_frame: u64,
    counted_after: u64,
    pause_frame: u64,
) -> (u64, u64) {
    let round_trip = Duration(2 * link_delay.0 + switch_delay.0);
    (bytes_in(rate, round_trip), 2 * max_frame + counted_after + pause_frame)
}

/// Returns the bytes that a link carries in a time, rounded up.
fn bytes_in(rate: Rate, time: Duration) -> u64 {
    (u128::from(rate.0) * u128::from(time.0)).div_ceil(8_000_000_000_000) as u64
}

/// Refuses values outside the range of a scenario; the message begins with the key.
fn within<T: PartialOrd + std::fmt::Display>(key: &str, value: T, least: T, most: T) -> Result<(), String> {
    if value < least || value > most {
        return Err(format!("{key}: {value} is out of range; allowed are {least} to {most}"));
    }
    Ok(())
}

fn check_link(rate: Rate, link_delay: Duration, switch_delay: Duration) -> Result<(), String> {
    within("rate", rate, Rate(1_000_000), Rate::MAX)?;
    within("link_delay", link_delay, Duration::ZERO, Duration::ms(1_000))?;
    within("switch_delay", switch_delay, Duration::ZERO, Duration::ms(1_000))
}

/// Computes PFC headroom. Refuses values out of range.
pub fn size_pfc(request: &PfcRequest) -> Result<PfcSize, String> {
    check_link(request.rate, request.link_delay, request.switch_delay)?;
    within("max_frame", request.max_frame, Bytes(1), Bytes(65_535))?;
    within("pause_frame", request.pause_frame, Bytes(1), Bytes(65_535))?;
    if let Some(buffer) = request.buffer
        && buffer < request.max_frame
    {
        return Err(format!("buffer: {buffer} cannot hold a frame of {}", request.max_frame));
    }
    within("response_time", request.response_time, Duration::ZERO, Duration::ms(1_000))?;
    if let Some(header) = request.cut_through {
        within("cut_through", header, Bytes(1), Bytes(65_535))?;
    }
    let (frame, pause) = (request.max_frame.0, request.pause_frame.0);
    let counted_after = request.cut_through.map_or(frame, |header| header.0.min(frame));
    let during =
        |step, time: Duration| Step { step, time_ps: time.ps(), bytes: bytes_in(request.rate, time) };
    let of = |step, bytes| Step { step, time_ps: request.rate.time(bytes).ps(), bytes };
    let steps = vec![
        of(
            if counted_after < frame {
                "the head of the packet that crosses XOFF"
            } else {
                "the packet that crosses XOFF"
            },
            counted_after,
        ),
        of("the pause waits for a frame in transmission", frame),
        of("the pause is sent", pause),
        during("the pause propagates", request.link_delay),
        during("the response time of the neighbour", request.response_time),
        of("the neighbour ends a frame in transmission", frame),
        during("bytes on the link arrive", request.link_delay),
        during("bytes in the pipeline of the switch arrive", request.switch_delay),
    ];
    // Rounded once: a scenario's headroom is the same.
    let delay = request.switch_delay + request.response_time;
    let (round_trip, packets) =
        pfc_headroom(request.rate, request.link_delay, delay, frame, counted_after, pause);
    let headroom_bytes = round_trip + packets;
    let xoff_bytes = request.buffer.map(|b| b.0.saturating_sub(headroom_bytes));
    let mut warnings = Vec::new();
    if xoff_bytes == Some(0) {
        warnings.push(format!(
            "the buffer is smaller than the headroom of {}: losses are possible at any threshold",
            Bytes(headroom_bytes)
        ));
    }
    Ok(PfcSize { steps, headroom_bytes, xoff_bytes, warnings })
}

/// Place of the watched buffer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Architecture {
    /// An egress buffer that counts all inputs.
    #[default]
    Oq,
    /// A buffer for each input and output.
    Voq,
}

/// Inputs of the SFC sizes.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SfcRequest {
    /// Senders.
    pub incast: u64,
    /// Links between a sender and the congestion point: 3 in a two-layer Clos, 5 in a three-layer Clos.
    pub links: u64,
    /// Propagation of a link, or the link's length.
    #[serde(deserialize_with = "Propagation::time")]
    #[schemars(with = "Propagation")]
    pub link_delay: Duration,
    /// Fixed processing delay of a switch.
    pub switch_delay: Duration,
    /// Line rate.
    pub rate: Rate,
    /// Buffer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub buffer: Option<Bytes>,
    /// XOFF.
    pub pfc_threshold: Bytes,
    /// SFC threshold.
    pub sfc_threshold: Bytes,
    /// A pause to judge.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pause: Option<Duration>,
    /// The watched buffer.
    #[serde(default)]
    pub architecture: Architecture,
}

/// SFC headroom and pause range.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct SfcSize {
    /// 2·links·delay + (2·links − 1)·switch delay.
    pub round_trip_ps: u64,
    /// (2·delay + switch delay)·C, as in the document: packets are not counted.
    pub pfc_headroom_bytes: u64,
    /// Bytes that may arrive between trigger and effect.
    pub needed_headroom_bytes: u64,
    /// PFC threshold less SFC threshold.
    pub available_headroom_bytes: u64,
    /// Shorter pauses leave the queue above the threshold.
    pub pause_min_ps: u64,
    /// Longer pauses let the queue run dry.
    pub pause_max_ps: u64,
    /// The largest incast that the distance between the thresholds can serve; none when any incast fits.
    pub largest_incast: Option<u64>,
    /// Values that are short, too long or too small.
    pub warnings: Vec<String>,
}

/// The highest threshold: queues count bytes with 32 bits.
const LARGEST: Bytes = Bytes((1 << 32) - 1);

/// Returns the value, or `u64::MAX` for larger values.
fn capped(value: u128) -> u64 {
    u64::try_from(value).unwrap_or(u64::MAX)
}

/// Returns warnings about available and needed headroom, and about a pause outside its bounds.
fn sfc_warnings(
    request: &SfcRequest,
    [available, needed]: [u128; 2],
    pfc_headroom: u64,
    [pause_min, pause_max]: [u128; 2],
) -> Vec<String> {
    let mut warnings = Vec::new();
    if available < needed {
        warnings.push(format!(
            "the {} between the SFC and PFC thresholds are below the {} needed: PFC will act",
            Bytes(capped(available)),
            Bytes(capped(needed))
        ));
    }
    if let Some(buffer) = request.buffer
        && buffer.0 < request.pfc_threshold.0 + pfc_headroom
    {
        warnings.push(format!(
            "the buffer above the PFC threshold is below the PFC headroom of {}: packets may be lost",
            Bytes(pfc_headroom)
        ));
    }
    if let Some(pause) = request.pause {
        if u128::from(pause.0) <= pause_min {
            warnings.push(format!("a pause of {pause} is too short: the queue stays above the threshold"));
        }
        if u128::from(pause.0) >= pause_max {
            warnings.push(format!("a pause of {pause} is too long: the queue runs dry and the link idles"));
        }
    }
    warnings
}

/// Computes SFC headroom and the pause range. Refuses values out of range.
pub fn size_sfc(request: &SfcRequest) -> Result<SfcSize, String> {
    let SfcRequest { incast: n, links, link_delay, switch_delay, rate, .. } = *request;
    // One sender cannot congest a link of the same rate.
    within("incast", n, 2, 1 << 20)?;
    within("links", links, 1, 64)?;
    check_link(rate, link_delay, switch_delay)?;
    within("pfc_threshold", request.pfc_threshold, Bytes(1), LARGEST)?;
    within("sfc_threshold", request.sfc_threshold, Bytes(1), LARGEST)?;
    if request.sfc_threshold >= request.pfc_threshold {
        return Err(format!(
            "sfc_threshold: {} is not below pfc_threshold, {}: PFC would act first",
            request.sfc_threshold, request.pfc_threshold
        ));
    }
    if let Some(buffer) = request.buffer
        && request.pfc_threshold > buffer
    {
        return Err(format!("pfc_threshold: {} is above buffer, {buffer}", request.pfc_threshold));
    }
    if let Some(pause) = request.pause {
        within("pause", pause, Duration::ns(1), Duration::ms(1_000))?;
    }
    let round_trip = u128::from(2 * links) * u128::from(link_delay.0)
        + u128::from(2 * links - 1) * u128::from(switch_delay.0);
    let c = u128::from(rate.0);
    let per_byte = 8_000_000_000_000_u128;
    let bytes_a_round_trip = c * round_trip / per_byte;
    let (needed, longest_extra) = match request.architecture {
        Architecture::Oq => {
            (u128::from(n - 1) * bytes_a_round_trip, u128::from(request.sfc_threshold.0) * per_byte / c)
        }
        Architecture::Voq => (
            u128::from(n - 1) * bytes_a_round_trip / u128::from(n),
            u128::from(n) * u128::from(request.sfc_threshold.0) * per_byte / c,
        ),
    };
    let available = request.pfc_threshold.0.saturating_sub(request.sfc_threshold.0);
    let largest_incast = match request.architecture {
        Architecture::Oq => {
            (bytes_a_round_trip > 0).then(|| (u128::from(available) / bytes_a_round_trip) as u64 + 1)
        }
        Architecture::Voq => {
            let rest = bytes_a_round_trip.saturating_sub(u128::from(available));
            (rest > 0).then(|| (bytes_a_round_trip / rest) as u64)
        }
    };
    let pause_min = u128::from(n - 1) * round_trip;
    let pause_max = pause_min + longest_extra;
    let pfc_headroom = pfc_headroom(rate, link_delay, switch_delay, 0, 0, 0).0;
    let pauses = [pause_min, pause_max];
    let warnings = sfc_warnings(request, [u128::from(available), needed], pfc_headroom, pauses);
    Ok(SfcSize {
        round_trip_ps: capped(round_trip),
        pfc_headroom_bytes: pfc_headroom,
        needed_headroom_bytes: capped(needed),
        available_headroom_bytes: available,
        pause_min_ps: capped(pause_min),
        pause_max_ps: capped(pause_max),
        largest_incast,
        warnings,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(incast: u64, links: u64, d: u64, s: u64, pfc: u64, sfc: u64) -> SfcSize {
        let request = SfcRequest {
            incast,
            links,
            link_delay: Duration::ns(d),
            switch_delay: Duration::ns(s),
            rate: Rate::gbps(200),
            buffer: None,
            pfc_threshold: Bytes(pfc * 1000),
            sfc_threshold: Bytes(sfc * 1000),
            pause: None,
            architecture: Architecture::Oq,
        };
        size_sfc(&request).unwrap()
    }

    /// Each row of the tables in the SFC document: incast, links, delays in ns, thresholds and needed
    /// headroom in KB, pause range in units of 0.1 us. Cases 4.1 and 4.2 have the upper bounds of the formula
    /// (9.6 and 11.2 us); the document prints 13.6 and 13.2.
    #[test]
    fn reproduces_every_row_of_the_document() {
        for (n, h, d, s, pfc, sfc, needed, min, max) in [
            (5, 5, 150, 300, 780, 200, 420, 168, 248),
            (3, 5, 150, 300, 780, 200, 210, 84, 164),
            (7, 5, 150, 300, 780, 200, 630, 252, 332),
            (3, 3, 150, 300, 380, 200, 120, 48, 128),
            (3, 3, 150, 300, 780, 600, 120, 48, 288),
            (3, 3, 150, 300, 1580, 1400, 120, 48, 608),
            (3, 3, 150, 300, 2380, 2200, 120, 48, 928),
            (3, 3, 150, 300, 3180, 3000, 120, 48, 1248),
            (3, 3, 150, 300, 3980, 3800, 120, 48, 1568),
            (5, 3, 150, 300, 380, 200, 240, 96, 176),
            (5, 3, 150, 300, 780, 600, 240, 96, 336),
            (5, 3, 150, 300, 780, 400, 240, 96, 256),
            (5, 3, 150, 300, 780, 200, 240, 96, 176),
            (5, 3, 150, 300, 1180, 800, 240, 96, 416),
            (3, 3, 50, 100, 380, 200, 40, 16, 96),
            (3, 3, 100, 200, 380, 200, 80, 32, 112),
            (3, 3, 300, 600, 365, 100, 240, 96, 136),
            (3, 3, 600, 1200, 340, 50, 480, 192, 212),
            (3, 3, 1200, 2400, 280, 50, 960, 384, 404),
            (3, 3, 2400, 4800, 160, 50, 1920, 768, 788),
        ] {
            let size = row(n, h, d, s, pfc, sfc);
            assert_eq!(size.needed_headroom_bytes, needed * 1000, "{n} {h} {d}");
            assert_eq!((size.pause_min_ps, size.pause_max_ps), (min * 100_000, max * 100_000), "{n} {h} {d}");
        }
    }

    #[test]
    fn refuses_what_has_no_answer() {
        let request = |change: &dyn Fn(&mut SfcRequest)| {
            let mut request = SfcRequest {
                incast: 3,
                links: 3,
                link_delay: Duration::ns(150),
                switch_delay: Duration::ns(300),
                rate: Rate::gbps(200),
                buffer: Some(Bytes(400_000)),
                pfc_threshold: Bytes(380_000),
                sfc_threshold: Bytes(200_000),
                pause: None,
                architecture: Architecture::Voq,
            };
            change(&mut request);
            size_sfc(&request).map_err(|e| e.split(':').next().unwrap_or_default().to_string())
        };
        assert!(request(&|_| ()).is_ok());
        assert_eq!(request(&|r| r.incast = 1), Err("incast".into()));
        assert_eq!(request(&|r| r.incast = u64::MAX), Err("incast".into()));
        assert_eq!(request(&|r| r.links = u64::MAX), Err("links".into()));
        assert_eq!(request(&|r| r.rate = Rate(0)), Err("rate".into()));
        assert_eq!(request(&|r| r.pfc_threshold = Bytes(400_001)), Err("pfc_threshold".into()));
        assert_eq!(request(&|r| r.sfc_threshold = Bytes(380_000)), Err("sfc_threshold".into()));
        assert_eq!(request(&|r| r.pause = Some(Duration::ZERO)), Err("pause".into()));
        // At the bounds nothing overflows.
        let extreme = request(&|r| {
            (r.incast, r.links) = (1 << 20, 64);
            (r.link_delay, r.switch_delay, r.rate) = (Duration::ms(1_000), Duration::ms(1_000), Rate::MAX);
        });
        assert!(extreme.unwrap().warnings[0].contains("PFC will act"));
    }

    #[test]
    fn answers_the_reverse_and_warns() {
        assert_eq!(row(7, 5, 150, 300, 780, 200).largest_incast, Some(6));
        assert!(row(7, 5, 150, 300, 780, 200).warnings[0].contains("PFC will act"));
        assert!(row(5, 5, 150, 300, 780, 200).warnings.is_empty());
        assert_eq!(row(3, 3, 150, 300, 380, 200).pfc_headroom_bytes, 15_000);
    }
}
