use xoff_units::{Duration, Moment, Rate};

use super::params::{Params, Preset};
use super::reaction::{Dcqcn, Pacing, State};
use crate::frames::kinds::Kind;
use crate::frames::packet::Packet;
use crate::hosts::congestion_control::contract::{Control, Notice, Sent};

const C: f64 = 100e9;

fn dcqcn(preset: Preset) -> Dcqcn {
    Params { preset, ..Params::default() }.resolve(Rate::gbps(100))
}

#[test]
fn one_isolated_notification_with_the_hpcc_preset() {
    let d = dcqcn(Preset::Hpcc);
    let mut s = d.start();
    d.on_cnp(&mut s, Moment::us(10));
    d.advance(&mut s, Moment(Duration::us(14).0 - 1));
    assert!((s.rate - C).abs() < 1.0);
    d.advance(&mut s, Moment::us(14));
    let expected = C * (1.0 - 0.5 * (255.0_f64 / 256.0).powi(4));
    assert!((s.rate - expected).abs() < 1.0 && (s.rate / C - 0.5078).abs() < 1e-4, "{}", s.rate / C);
    // The gap to the line halves with each timer: within 1 % after six.
    d.advance(&mut s, Moment::us(14 + 6 * 300));
    assert!(s.rate > 0.99 * C && s.rate <= C);
}

#[test]
fn notifications_on_every_ack_halve_the_rate_each_interval_down_to_the_minimum() {
    let d = dcqcn(Preset::Hpcc);
    let mut s = d.start();
    let mut t = Duration::us(1);
    while t < Duration::us(61) {
        d.on_cnp(&mut s, Moment::ZERO + t);
        t += Duration::ns(100);
    }
    assert!((s.rate - 1e9).abs() < 1.0, "{}", s.rate);
    assert!(s.alpha > 0.99);
}

#[test]
fn evaluating_more_often_changes_nothing() {
    let d = dcqcn(Preset::Conweave);
    let (mut a, mut b) = (d.start(), d.start());
    for k in 0..200_u64 {
        let t = Duration(k * k * 7_919_000);
        d.on_cnp(&mut a, Moment::ZERO + t);
        for step in 0..5 {
            d.advance(&mut b, Moment(t.0.saturating_sub((5 - step) * 1_000_000)));
        }
        d.on_cnp(&mut b, Moment::ZERO + t);
        assert!((a.rate - b.rate).abs() == 0.0 && (a.alpha - b.alpha).abs() == 0.0);
    }
}

/// The wait after a packet of 1048 B that starts at 1 ms, with rate and target at the minimum after a
/// cut.
fn longest_gap(params: &Params) -> Duration {
    let d = params.resolve(Rate::gbps(100));
    let now = Moment::ms(1);
    let mut s = State {
        rate: d.minimum,
        target: d.minimum,
        is_active: true,
        next_increase: now + d.increase_interval,
        ..d.start()
    };
    let mut packet = Packet::new(Kind::Data, 0, 0, 0, 1048, 0);
    d.on_sent(&mut s, &mut packet, Sent { key: 0, bytes: 1048, is_queue_empty: false, left: 0, now })
}

#[test]
fn the_longest_gap_without_notifications_follows_from_the_increases() {
    // 8384 bits: 300 at 1 Mb/s, 300 more after fast recovery, 1050 at 3.5, and the rest at 29.75 Mb/s.
    let mellanox = Params { preset: Preset::Mellanox, ..Params::default() };
    assert_eq!(longest_gap(&mellanox), Duration::of_real(900e6 + 6734e6 / 29.75));
    // A gap that is settled as the packet before starts is that of the minimum rate: 8.384 ms.
    assert_eq!(longest_gap(&Params { pacing: Some(Pacing::Gap), ..mellanox }), Duration(8_384_000_000));
    // The codes of ns-3: 8384 bits at 100 Mb/s and at 1 Gb/s.
    assert_eq!(longest_gap(&Params { preset: Preset::Conweave, ..Params::default() }), Duration(83_840_000));
    assert_eq!(longest_gap(&Params { preset: Preset::Hpcc, ..Params::default() }), Duration(8_384_000));
    // The paper: five steps of fast recovery at 40 Mb/s, 55 us each, are more than a packet takes.
    assert_eq!(longest_gap(&Params { preset: Preset::Paper, ..Params::default() }), Duration(209_600_000));
}

#[test]
fn a_limiter_obeys_a_notification_while_a_packet_waits() {
    // Line rate, a packet at 0, and a notification at 20 ns.
    let d = Params { preset: Preset::Paper, ..Params::default() }.resolve(Rate::gbps(100));
    let mut s = d.start();
    let mut packet = Packet::new(Kind::Data, 0, 0, 0, 1250, 0);
    let sent = Sent { key: 0, bytes: 1250, is_queue_empty: false, left: 0, now: Moment::ZERO };
    assert_eq!(d.on_sent(&mut s, &mut packet, sent), Duration::ns(100));
    let cnp = Packet::new(Kind::Cnp, 0, 0, 0, 64, 0);
    d.on_notice(&mut s, &Notice { frame: &cnp, sent: None, now: Moment::ns(20) });
    // The paper cuts at once, by half: what is left of the packet, 80 ns at 100 Gb/s, takes twice as
    // long.
    assert_eq!(d.due(&s, Moment::ns(100)), Moment::ns(180));
}

#[test]
fn every_preset_recovers_and_stays_within_bounds() {
    use Preset::*;
    for preset in [Conweave, Hpcc, HpccPaper, HpccConfig, Microsoft, SfcProxy, Mellanox, Paper] {
        let d = dcqcn(preset);
        let mut s = d.start();
        for k in 0..500 {
            d.on_cnp(&mut s, Moment::us(k * 13));
            assert!(s.rate >= d.minimum && s.rate <= C, "{preset:?}");
        }
        assert!(s.rate < 0.6 * C, "{preset:?}: {}", s.rate);
        d.advance(&mut s, Moment::ms(10_000));
        assert!(s.rate > 0.95 * C, "{preset:?}: {}", s.rate);
    }
}
