//! High-water marks: the maximum of each count of a node, with its threshold.
//!
//! Each count keeps its maximum, and marks are read at the end of a run. Headroom is the part of an ingress
//! count above XOFF: with a fixed threshold, the bytes above the threshold; in a shared buffer, the bytes
//! admitted above the dynamic threshold. With egress accounting ingress counts have no threshold, and
//! headroom is not measured.

use crate::parts::ids::PortId;
use crate::ports::core::Core;
use crate::ports::queueing::buffer::Buffer;

/// Kind of a count.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// Waiting bytes that entered by a port in a class.
    Ingress,
    /// Part of the ingress count above XOFF.
    Headroom,
    /// Used bytes of the shared part of a buffer.
    Pool,
    /// Bytes in a queue of an output.
    Queue,
}

impl Kind {
    /// All kinds.
    pub const ALL: [Self; 4] = [Self::Ingress, Self::Headroom, Self::Pool, Self::Queue];

    /// The name in tables and summaries.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Ingress => "ingress",
            Self::Headroom => "headroom",
            Self::Pool => "pool",
            Self::Queue => "queue",
        }
    }
}

/// Maximum of a count.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Mark {
    /// Kind of the count.
    pub kind: Kind,
    /// Of which port; none for the whole node.
    pub port: Option<PortId>,
    /// Of which class.
    pub class: Option<u8>,
    /// Maximum in bytes.
    pub bytes: u64,
    /// Threshold of the count, if fixed.
    pub threshold: Option<u64>,
}

/// Returns the marks above zero of a node: of ingress ports, of its memory, then of output queues.
pub fn marks(core: &Core) -> impl Iterator<Item = Mark> {
    let of_groups = (0..core.ingress.len()).flat_map(|group| {
        let (port, class) = core.classes.of(group);
        let (port, class) = (Some(port), Some(class));
        let (peak, level) =
            (u64::from(core.ingress[group].peak()), core.ingress[group].level().map(u64::from));
        let (above, room) = headroom(core, group, peak, level);
        [
            Mark { kind: Kind::Ingress, port, class, bytes: peak, threshold: level },
            Mark { kind: Kind::Headroom, port, class, bytes: above, threshold: room },
        ]
    });
    let pool = match &core.buffer {
        Buffer::Shared(b) => Some((b.pool_peak() as u64, b.pool().max(0) as u64)),
        _ => None,
    };
    let of_pool = pool.map(|(bytes, size)| Mark {
        kind: Kind::Pool,
        port: None,
        class: None,
        bytes,
        threshold: Some(size),
    });
    let of_queues = PortId::each(&core.ports).flat_map(|(port, p)| {
        p.queues.iter().skip(1).map(move |q| Mark {
            kind: Kind::Queue,
            port: Some(port),
            class: Some(q.class()),
            bytes: u64::from(q.bytes.peak()),
            threshold: None,
        })
    });
    of_groups.chain(of_pool).chain(of_queues).filter(|m| m.bytes > 0)
}

/// Returns the maximum of a port and class above XOFF, and the size of the headroom.
fn headroom(core: &Core, group: usize, peak: u64, level: Option<u64>) -> (u64, Option<u64>) {
    let limit = match &core.buffer {
        Buffer::Shared(b) => {
            let (used, size) = b.headroom_peak(group);
            return (used as u64, Some(size as u64));
        }
        // Classes share the port's memory.
        Buffer::PerIngress { limit, .. } => Some(u64::from(*limit) / u64::from(core.classes.0)),
        Buffer::PerIngressClass(limit) => Some(u64::from(*limit)),
        Buffer::Unlimited | Buffer::PerEgress { .. } | Buffer::PerEgressQueue(_) => None,
    };
    let Some(xoff) = level else { return (0, None) };
    (peak.saturating_sub(xoff), limit.map(|l| l.saturating_sub(xoff)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ports::queueing::buffer::{Share, Shared, SharedBuffer};

    /// Fills an ingress port and class of a core to its maximum.
    fn hold(core: &mut Core, port: PortId, class: u8, bytes: u16) {
        let group = core.group(port, class);
        core.ingress[group].add(bytes);
        core.ingress[group].sub(bytes);
    }

    #[test]
    fn headroom_is_what_is_above_xoff() {
        let mut core = Core::for_tests(2, 2);
        core.buffer = Buffer::PerIngress { limit: 2_000, used: vec![0; 2], caps: Vec::new() };
        let group = core.group(PortId(1), 1);
        core.ingress[group].watch(600, 100);
        hold(&mut core, PortId(1), 1, 850);
        hold(&mut core, PortId(0), 1, 300);
        core.ports[1].queues[2].bytes.add(70);
        let found: Vec<_> = marks(&core)
            .map(|m| (m.kind.name(), m.port.map(PortId::index), m.class, m.bytes, m.threshold))
            .collect();
        let expected = [
            ("ingress", Some(0), Some(1), 300, None),
            ("ingress", Some(1), Some(1), 850, Some(600)),
            // Half of the port's memory, less XOFF.
            ("headroom", Some(1), Some(1), 250, Some(400)),
            ("queue", Some(1), Some(1), 70, None),
        ];
        assert_eq!(found, expected);
    }

    #[test]
    fn a_shared_buffer_says_what_was_used_of_pool_and_headroom() {
        let mut core = Core::for_tests(1, 1);
        core.buffer = Buffer::Shared(SharedBuffer::new(
            &Shared::for_tests(10_000),
            1,
            [Share { alpha: 1.0, reserve: 0, headroom: 2_000, fills_pool: false }],
        ));
        while core.buffer.admit(PortId(0), 0, PortId(0), 0, 0, 1_000) {}
        let found: Vec<_> = marks(&core).map(|m| (m.kind.name(), m.bytes, m.threshold)).collect();
        assert_eq!(found, [("headroom", 2_000, Some(2_000)), ("pool", 4_000, Some(8_000))]);
    }
}
