//! Flow-size distributions: published tables and user tables.
//!
//! A draw takes a uniform percentage and interpolates linearly in bytes between two points, rounded up, at
//! least one byte (HPCC's `custom_rand`). The mean is that of the trapezoid rule. Each table names its
//! source; `docs/models/poisson.md`.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use xoff_engine::random::Stream;
use xoff_models::frames::framing::Framing;

/// A published table.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Named {
    /// DCTCP (Alizadeh et al., SIGCOMM 2010).
    Websearch,
    /// Facebook Hadoop (Roy et al., SIGCOMM 2015), the coarse table of HPCC.
    Hadoop,
    /// The same trace at finer grain: 40 points, Kolmogorov distance 0.33 % from the full table.
    HadoopFine,
    /// Alibaba storage (HPCC, SIGCOMM 2019).
    Storage,
    /// VL2 (Greenberg et al., SIGCOMM 2009).
    Datamining,
    /// All Google RPC applications, 2008 (Homa, SIGCOMM 2018): 56 points, Kolmogorov distance 0.23 % from the
    /// full table.
    GoogleRpc,
}

impl Named {
    /// Bytes and cumulative percent.
    pub const fn points(self) -> &'static [(f64, f64)] {
        match self {
            Self::Websearch => WEBSEARCH,
            Self::Hadoop => HADOOP,
            Self::HadoopFine => HADOOP_FINE,
            Self::Storage => STORAGE,
            Self::Datamining => DATAMINING,
            Self::GoogleRpc => GOOGLE_RPC,
        }
    }
}

/// A distribution to draw from.
#[derive(Debug, Clone, PartialEq)]
pub struct SizeTable {
    points: Vec<(f64, f64)>,
}

impl SizeTable {
    /// A published table.
    pub fn named(named: Named) -> Self {
        Self { points: named.points().to_vec() }
    }

    /// Makes a user's table; returns the problem of an invalid table.
    pub fn new(points: &[(f64, f64)]) -> Result<Self, String> {
        if points.len() < 2 {
            return Err("a distribution needs at least two points".into());
        }
        for (i, (bytes, percent)) in points.iter().enumerate() {
            if !(bytes.is_finite()
                && *bytes >= 0.0
                && *bytes <= 1e12
                && percent.is_finite()
                && (0.0..=100.0).contains(percent))
            {
                return Err(format!(
                    "point {i} ({bytes}, {percent}) is out of range; bytes are 0 to 10^12 and percent 0 to 100"
                ));
            }
            if i > 0 && (*bytes < points[i - 1].0 || *percent < points[i - 1].1) {
                return Err(format!(
                    "point {i} ({bytes}, {percent}) is below the previous point; both columns must rise"
                ));
            }
        }
        let last = points[points.len() - 1];
        if (last.1 - 100.0).abs() > 0.0 {
            return Err(format!("the last point is at {} percent; must be at 100", last.1));
        }
        if last.0 <= 0.0 {
            return Err("the largest size is zero".into());
        }
        Ok(Self { points: points.to_vec() })
    }

    /// Mean size in bytes, by the trapezoid rule.
    pub fn mean(&self) -> f64 {
        let first = self.points[0];
        let rest: f64 =
            self.points.windows(2).map(|w| f64::midpoint(w[0].0, w[1].0) * (w[1].1 - w[0].1)).sum();
        (rest + first.0 * first.1) / 100.0
    }

    /// Mean bytes of a flow on the wire, with headers and without padding of small packets.
    pub fn mean_on_wire(&self, framing: &Framing) -> f64 {
        let payload = framing.payload as f64;
        // Packets of flows up to x, added up over x: the integral of ⌈x / payload⌉.
        let all = |x: f64| {
            let full = (x / payload).floor();
            payload * full * (full + 1.0) / 2.0 + (full + 1.0) * (x - full * payload)
        };
        let packets = |b0: f64, b1: f64| {
            if b1 > b0 { (all(b1) - all(b0)) / (b1 - b0) } else { (b1 / payload).ceil().max(1.0) }
        };
        let first = self.points[0];
        let rest: f64 = self.points.windows(2).map(|w| packets(w[0].0, w[1].0) * (w[1].1 - w[0].1)).sum();
        self.mean() + framing.header as f64 * (rest + packets(first.0, first.0) * first.1) / 100.0
    }

    /// The size at a percentage.
    pub fn at(&self, percent: f64) -> u64 {
        let i = self.points.partition_point(|p| p.1 < percent).min(self.points.len() - 1);
        let (b1, p1) = self.points[i];
        let bytes = if i == 0 {
            b1
        } else {
            let (b0, p0) = self.points[i - 1];
            if p1 > p0 { b0 + (b1 - b0) * (percent - p0) / (p1 - p0) } else { b1 }
        };
        (bytes.ceil() as u64).max(1)
    }

    /// A random size.
    pub fn draw(&self, stream: &mut Stream) -> u64 {
        self.at(stream.uniform() * 100.0)
    }

    /// Draws the remainder of a flow at a random moment: density (1 − F(x)) / E\[S\]. A flow is drawn in
    /// proportion to its size, then a uniform part of the flow.
    pub fn draw_residual(&self, stream: &mut Stream) -> u64 {
        let first = self.points[0];
        let mut bytes = stream.uniform() * self.mean() * 100.0 - first.0 * first.1;
        let mut size = first.0;
        if bytes >= 0.0 {
            for w in self.points.windows(2) {
                let ((b0, p0), (b1, p1)) = (w[0], w[1]);
                let of_segment = f64::midpoint(b0, b1) * (p1 - p0);
                if of_segment > 0.0 {
                    // Within a segment sizes are uniform, and bytes of flows up to x are (x² − b0²) / (b1² −
                    // b0²) of all.
                    let share = (bytes / of_segment).min(1.0);
                    size = (b0 * b0 + share * (b1 * b1 - b0 * b0)).sqrt();
                }
                bytes -= of_segment;
                if bytes < 0.0 {
                    break;
                }
            }
        }
        ((size * stream.uniform()).ceil() as u64).max(1)
    }
}

const WEBSEARCH: &[(f64, f64)] = &[
    (0.0, 0.0),
    (10000.0, 15.0),
    (20000.0, 20.0),
    (30000.0, 30.0),
    (50000.0, 40.0),
    (80000.0, 53.0),
    (200_000.0, 60.0),
    (1_000_000.0, 70.0),
    (2_000_000.0, 80.0),
    (5_000_000.0, 90.0),
    (10_000_000.0, 97.0),
    (30_000_000.0, 100.0),
];

const HADOOP: &[(f64, f64)] = &[
    (0.0, 0.0),
    (100.0, 1.0),
    (200.0, 2.0),
    (300.0, 5.0),
    (350.0, 15.0),
    (400.0, 20.0),
    (500.0, 30.0),
    (600.0, 40.0),
    (700.0, 50.0),
    (1000.0, 60.0),
    (2000.0, 67.0),
    (7000.0, 70.0),
    (30000.0, 72.0),
    (50000.0, 82.0),
    (80000.0, 87.0),
    (120_000.0, 90.0),
    (300_000.0, 95.0),
    (1_000_000.0, 97.5),
    (2_000_000.0, 99.0),
    (10_000_000.0, 100.0),
];

const HADOOP_FINE: &[(f64, f64)] = &[
    (0.0, 0.0),
    (217.0, 1.49),
    (300.0, 5.2),
    (326.0, 13.75),
    (335.0, 15.052),
    (376.0, 20.26),
    (425.0, 22.3),
    (480.0, 26.39),
    (561.0, 40.054),
    (600.0, 45.91),
    (679.0, 51.67),
    (755.0, 55.926),
    (800.0, 57.62),
    (960.0, 60.045),
    (1534.0, 64.68),
    (1664.0, 66.73),
    (3254.0, 68.307),
    (7830.0, 70.82),
    (20952.0, 71.73),
    (31946.0, 72.12),
    (39973.0, 73.98),
    (44260.0, 75.84),
    (51046.0, 81.6),
    (70722.0, 83.27),
    (75180.0, 84.2),
    (81565.0, 87.17),
    (97584.0, 88.514),
    (133_013.0, 90.7),
    (172_651.0, 92.198),
    (240_177.0, 94.42),
    (302_981.0, 95.443),
    (538_237.0, 96.448),
    (1_002_040.0, 97.303),
    (2_169_120.0, 98.7),
    (2_527_290.0, 98.83),
    (3_430_820.0, 99.09),
    (4_657_380.0, 99.35),
    (6_322_440.0, 99.61),
    (7_366_420.0, 99.74),
    (10_000_000.0, 100.0),
];

const STORAGE: &[(f64, f64)] = &[
    (0.0, 0.0),
    (4000.0, 22.93),
    (8000.0, 69.21),
    (16000.0, 80.61),
    (32000.0, 90.47),
    (64000.0, 93.53),
    (128_000.0, 96.77),
    (256_000.0, 97.53),
    (2_000_000.0, 100.0),
];

const DATAMINING: &[(f64, f64)] = &[
    (0.0, 0.0),
    (180.0, 10.0),
    (216.0, 20.0),
    (560.0, 30.0),
    (900.0, 40.0),
    (1100.0, 50.0),
    (1870.0, 60.0),
    (3160.0, 70.0),
    (10000.0, 80.0),
    (400_000.0, 90.0),
    (3_160_000.0, 95.0),
    (100_000_000.0, 98.0),
    (1_000_000_000.0, 100.0),
];

const GOOGLE_RPC: &[(f64, f64)] = &[
    (0.0, 0.0),
    (3.0, 6.48826),
    (32.0, 9.73239),
    (40.0, 12.0503),
    (46.0, 13.2092),
    (53.0, 14.3681),
    (64.0, 15.5271),
    (70.0, 18.7988),
    (77.0, 22.0705),
    (85.0, 25.3422),
    (96.0, 28.6139),
    (110.0, 31.8856),
    (146.0, 38.8155),
    (186.0, 44.3028),
    (228.0, 47.961),
    (256.0, 49.7901),
    (268.0, 52.3994),
    (296.0, 57.6179),
    (313.0, 60.2272),
    (331.0, 62.8365),
    (375.0, 68.055),
    (433.0, 73.2736),
    (512.0, 78.4921),
    (623.0, 81.2878),
    (796.0, 84.0834),
    (956.0, 85.7608),
    (1271.0, 88.0957),
    (1536.0, 89.3641),
    (1940.0, 90.6325),
    (2458.0, 91.7559),
    (3072.0, 92.6257),
    (5521.0, 95.0105),
    (7469.0, 96.1468),
    (11385.0, 97.5745),
    (16384.0, 98.4694),
    (24121.0, 98.8356),
    (35606.0, 99.0857),
    (47104.0, 99.2139),
    (65536.0, 99.3256),
    (87381.0, 99.5192),
    (117_965.0, 99.6699),
    (150_160.0, 99.7466),
    (210_429.0, 99.8128),
    (320_864.0, 99.8836),
    (409_266.0, 99.9205),
    (524_288.0, 99.9498),
    (687_784.0, 99.9622),
    (922_664.0, 99.9723),
    (1_284_580.0, 99.9806),
    (1_827_700.0, 99.9869),
    (2_565_210.0, 99.9912),
    (3_710_020.0, 99.9945),
    (5_114_700.0, 99.9965),
    (7_143_050.0, 99.998),
    (9_710_290.0, 99.999),
    (15_158_200.0, 100.0),
];

#[cfg(test)]
mod tests {
    use super::*;

    const ALL: [(Named, f64); 6] = [
        (Named::Websearch, 1_711_250.0),
        (Named::Hadoop, 120_421.0),
        (Named::HadoopFine, 122_419.0),
        (Named::Storage, 40_870.0),
        (Named::Datamining, 12_658_199.0),
        (Named::GoogleRpc, 2_931.0),
    ];

    #[test]
    fn published_means() {
        for (named, mean) in ALL {
            let found = SizeTable::named(named).mean();
            assert!((found / mean - 1.0).abs() < 5e-4, "{named:?}: {found} against {mean}");
            assert!(SizeTable::new(named.points()).is_ok());
        }
    }

    #[test]
    fn draws_follow_the_table() {
        // Kolmogorov distance of 10^6 stratified draws, evaluated at the points; means within 1 %.
        for (named, mean) in ALL {
            let table = SizeTable::named(named);
            let mut stream = Stream::new(3, 0, "sizes");
            let n = 1_000_000_u32;
            let mut draws: Vec<u64> =
                (0..n).map(|i| table.at((f64::from(i) + stream.uniform()) / f64::from(n) * 100.0)).collect();
            let found = draws.iter().map(|d| *d as f64).sum::<f64>() / f64::from(n);
            assert!((found / mean - 1.0).abs() < 0.01, "{named:?}: {found}");
            draws.sort_unstable();
            for (bytes, percent) in named.points() {
                let below = draws.partition_point(|d| *d as f64 <= *bytes) as f64 / f64::from(n);
                assert!((below - percent / 100.0).abs() < 0.002, "{named:?} at {bytes}");
            }
        }
    }

    #[test]
    fn a_flow_on_the_wire_has_a_header_for_each_packet() {
        let framing = Framing { payload: 1000, header: 50, control: 64, minimum: 64 };
        // 1 to 3 packets, as likely; always 2; 1 or 3.
        for (points, bytes) in [
            (&[(0.0, 0.0), (3000.0, 100.0)][..], 1500.0 + 100.0),
            (&[(1500.0, 0.0), (1500.0, 100.0)], 1500.0 + 100.0),
            (&[(1000.0, 50.0), (1000.0, 50.0), (3000.0, 50.0), (3000.0, 100.0)], 2000.0 + 100.0),
        ] {
            assert!(
                (SizeTable::new(points).unwrap().mean_on_wire(&framing) - bytes).abs() < 1e-6,
                "{points:?}"
            );
        }
        for (named, _) in ALL {
            let (table, n) = (SizeTable::named(named), 1_000_000_u32);
            let sizes = (0..n).map(|i| table.at((f64::from(i) + 0.5) / f64::from(n) * 100.0));
            let found =
                sizes.map(|size| (size + 50 * framing.packets(size)) as f64).sum::<f64>() / f64::from(n);
            assert!((found / table.mean_on_wire(&framing) - 1.0).abs() < 1e-3, "{named:?}: {found}");
        }
    }

    #[test]
    fn what_is_left_follows_the_residual_distribution() {
        // A flow of D leaves U(0, D); U(0, B) leaves F(x) = 2x/B − (x/B)²; one of D or 3D, evenly, is of 3D
        // in three of four.
        type Cdf = fn(f64) -> f64;
        let cases: [(&[(f64, f64)], Cdf); 3] = [
            (&[(1e6, 0.0), (1e6, 100.0)], |x| x),
            (&[(0.0, 0.0), (1e6, 100.0)], |x| 2.0 * x - x * x),
            (&[(1e6 / 3.0, 50.0), (1e6 / 3.0, 50.0), (1e6, 50.0), (1e6, 100.0)], |x| {
                0.25 * (3.0 * x).min(1.0) + 0.75 * x
            }),
        ];
        for (points, cdf) in cases {
            let (table, mut stream, n) =
                (SizeTable::new(points).unwrap(), Stream::new(3, 0, "sizes"), 100_000_u32);
            let mut draws: Vec<u64> = (0..n).map(|_| table.draw_residual(&mut stream)).collect();
            draws.sort_unstable();
            // Kolmogorov: a distance of 1.95 / √n has a chance of 0.1 %.
            for (i, draw) in draws.iter().enumerate() {
                let distance = (f64::from(i as u32) / f64::from(n) - cdf(*draw as f64 / 1e6)).abs();
                assert!(distance < 1.95 / f64::from(n).sqrt(), "{points:?}: {distance} at {draw}");
            }
        }
        // Of any distribution the mean is E[S²] / 2 E[S].
        for (named, mean) in ALL {
            let (table, mut stream, n) = (SizeTable::named(named), Stream::new(3, 0, "sizes"), 400_000_u32);
            let square = named
                .points()
                .windows(2)
                .map(|w| (w[0].0 * w[0].0 + w[0].0 * w[1].0 + w[1].0 * w[1].0) / 3.0 * (w[1].1 - w[0].1));
            let wanted = square.sum::<f64>() / 100.0 / (2.0 * mean);
            let found = (0..n).map(|_| table.draw_residual(&mut stream) as f64).sum::<f64>() / f64::from(n);
            assert!((found / wanted - 1.0).abs() < 0.02, "{named:?}: {found} against {wanted}");
        }
    }

    #[test]
    fn refuses_what_is_no_distribution() {
        for (points, words) in [
            (vec![(0.0, 0.0)], "at least two"),
            (vec![(0.0, 0.0), (10.0, 50.0)], "must be at 100"),
            (vec![(0.0, 0.0), (10.0, 60.0), (5.0, 100.0)], "must rise"),
            (vec![(0.0, 0.0), (f64::NAN, 100.0)], "out of range"),
            (vec![(0.0, 0.0), (0.0, 100.0)], "largest size is zero"),
        ] {
            assert!(SizeTable::new(&points).unwrap_err().contains(words));
        }
    }
}
