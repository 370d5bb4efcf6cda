//! The choices of a reference, and numbers that NCCL printed.

use xoff_models::paths::topology::{Cpu, Gpu};

use super::*;

/// Choices at powers of two, by an independent program after NCCL's source: system, operation, then
/// algorithm, protocol, channels, chunk and time in µs of each size.
const CHOICES: &str = include_str!("choices.txt");

fn gpu(name: &str) -> Gpu {
    serde_json::from_value(name.into()).unwrap()
}

fn system(words: &[&str]) -> Tuning {
    let n = |place: usize| words[place].parse::<u32>().unwrap();
    let cpu: Cpu = serde_json::from_value(words[5].into()).unwrap();
    Tuning::new(Servers { cpu, ..Servers::new(n(0), n(1), n(2), f64::from(n(3)) / 8.0, gpu(words[4])) })
}

fn operation(name: &str) -> Operation {
    match name {
        "all_reduce" => Operation::AllReduce,
        "all_gather" => Operation::AllGather,
        "reduce_scatter" => Operation::ReduceScatter,
        "broadcast" => Operation::Broadcast,
        _ => Operation::Reduce,
    }
}

const fn letter(algorithm: Algorithm) -> &'static str {
    match algorithm {
        Algorithm::Tree => "T",
        Algorithm::Ring => "R",
        Algorithm::Nvls => "N",
        Algorithm::NvlsTree => "NT",
        Algorithm::Pat => "P",
    }
}

fn shown(graph: Graph) -> String {
    format!("{}x{}/{}", graph.channels, graph.intra, graph.inter)
}

#[test]
fn channels_and_choices_are_those_of_the_reference() {
    for line in CHOICES.lines() {
        let words: Vec<&str> = line.split(' ').collect();
        let tuning = system(&words);
        if words[6] == "graphs" {
            let Graphs { ring, tree, nvls, in_use, nvls_in_use, .. } = *tuning.graphs();
            let ours = [shown(ring), shown(tree), shown(nvls), in_use.to_string(), nvls_in_use.to_string()];
            assert_eq!(ours.as_slice(), &words[7..], "{line}");
            continue;
        }
        let operation = operation(words[6]);
        let exponents: Vec<u32> =
            (3..35).filter(|e| operation == Operation::AllReduce || e % 3 == 0).collect();
        assert_eq!(exponents.len(), words.len() - 7);
        for (exponent, expected) in exponents.into_iter().zip(&words[7..]) {
            let bytes = 1_u64 << exponent;
            let choice = tuning.choose(operation, bytes, None, None).unwrap();
            // The reference has a whole slot for NVLS. NCCL has at most 128 KiB (`enqueue.cc`:
            // `calcCollChunking`; `transport/nvls.cc`: `NVLS_CHUNKSIZE`).
            let chunk = match Chunks::new(&tuning, operation, choice, bytes).chunk {
                chunk if choice.algorithm == Algorithm::Nvls => {
                    assert!((16 << 10..=128 << 10).contains(&chunk));
                    512 << 10
                }
                chunk => chunk,
            };
            let protocol = match choice.protocol {
                Protocol::Ll => "LL",
                Protocol::Ll128 => "LL128",
                Protocol::Simple => "Simple",
            };
            let ours = format!(
                "{}:{protocol}:{}:{chunk}:{:.6}",
                letter(choice.algorithm),
                choice.channels,
                choice.time
            );
            assert_eq!(ours, **expected, "{} {} of 2^{exponent}", words[..6].join(" "), words[6]);
        }
    }
}

#[test]
fn latencies_and_bandwidths_are_those_that_nccl_2_29_printed() {
    // Two servers with one RTX 5090 each over sockets.
    let nic = Servers { distance: Distance::Sys, ..Servers::new(2, 1, 2, 10.0 / 8.0, Gpu::Rtx5090) };
    let tuning = Tuning::new(nic);
    let printed = [
        (Operation::AllReduce, Algorithm::Tree, [Some((16.8, 0.5)), None, Some((36.4, 1.9))]),
        (Operation::AllReduce, Algorithm::Ring, [Some((16.6, 1.2)), None, Some((36.4, 2.4))]),
        (Operation::AllGather, Algorithm::Ring, [Some((11.6, 2.4)), None, Some((22.4, 4.8))]),
        (Operation::Broadcast, Algorithm::Ring, [Some((9.3, 1.2)), None, Some((22.4, 2.4))]),
        (Operation::AllGather, Algorithm::Pat, [None, None, Some((17.6, 3.6))]),
    ];
    for (operation, algorithm, row) in printed {
        for (protocol, expected) in [Protocol::Ll, Protocol::Ll128, Protocol::Simple].into_iter().zip(row) {
            let cost = tuning.cost(operation, algorithm, protocol).map(|cost| (cost.latency, cost.bandwidth));
            let near =
                |(a, b): (f64, f64), (c, d): (f64, f64)| (a - c).abs() < 0.051 && (b - d).abs() < 0.051;
            assert!(
                cost.is_some() == expected.is_some() && cost.zip(expected).is_none_or(|(a, b)| near(a, b)),
                "{operation:?} {algorithm:?} {protocol:?}: {cost:?}, printed {expected:?}"
            );
        }
    }
    for (bytes, protocol, channels) in [
        (1_024, Protocol::Ll, 1),
        (8_192, Protocol::Ll, 1),
        (16_384, Protocol::Ll, 2),
        (32_768, Protocol::Simple, 1),
        (65_536, Protocol::Simple, 2),
        (131_072, Protocol::Simple, 4),
        (1 << 27, Protocol::Simple, 4),
    ] {
        let choice = tuning.choose(Operation::Broadcast, bytes, None, None).unwrap();
        assert_eq!((choice.protocol, choice.channels), (protocol, channels), "{bytes}");
    }
}

#[test]
fn times_are_those_that_nccl_2_22_printed() {
    // NVIDIA/nccl issue 1453: three servers of eight H100, rings of 8 × 24 GB/s.
    let servers = Servers { is_before_2_23: true, has_nvls: false, ..Servers::new(3, 8, 8, 25.0, Gpu::H100) };
    let tuning = Tuning::new(servers);
    for (algorithm, protocol, bytes, printed) in [
        (Algorithm::Ring, Protocol::Simple, 1 << 29, 5_679.147_949),
        (Algorithm::Ring, Protocol::Simple, 1 << 30, 11_038.536_133),
        (Algorithm::Tree, Protocol::Ll, 256, 25.229_528),
        (Algorithm::Tree, Protocol::Ll, 512, 25.259_054),
    ] {
        // NCCL calculates in single precision.
        let time = tuning.time(Operation::AllReduce, algorithm, protocol, bytes).unwrap();
        assert!((time - printed).abs() < printed * 1e-7, "{bytes}: {time}, printed {printed}");
    }
    assert_eq!(tuning.choose(Operation::AllReduce, 256, None, None).unwrap().algorithm, Algorithm::Tree);
    assert_eq!(tuning.choose(Operation::AllReduce, 1 << 30, None, None).unwrap().algorithm, Algorithm::Ring);
    assert_eq!(tuning.graphs().in_use, 16);
}

#[test]
fn an_impossible_combination_has_no_choice() {
    let tuning = Tuning::new(Servers::new(2, 8, 8, 50.0, Gpu::A100));
    assert_eq!(tuning.choose(Operation::AllReduce, 1 << 20, Some(Algorithm::NvlsTree), None), None);
    assert_eq!(tuning.choose(Operation::Broadcast, 1 << 20, Some(Algorithm::Tree), None), None);
    // A ring of an A100 closes over several PCIe switches, which keep lines of 128 bytes whole.
    assert!(tuning.allows(Operation::AllReduce, Algorithm::Ring, Protocol::Ll128));
}

#[test]
fn flags_travel_with_the_data() {
    let tuning = Tuning::new(Servers::new(2, 8, 8, 50.0, Gpu::H100));
    for (protocol, wire) in [(Protocol::Ll, 30_000), (Protocol::Ll128, 16_000), (Protocol::Simple, 15_000)] {
        let choice =
            tuning.choose(Operation::AllReduce, 1 << 20, Some(Algorithm::Ring), Some(protocol)).unwrap();
        assert_eq!(Chunks::new(&tuning, Operation::AllReduce, choice, 1 << 20).wire(15_000), wire);
    }
}

#[test]
fn nvlink_carries_the_speed_of_a_head_once_more_than_there_are_heads() {
    // NVLink of an H100 is 370.8 GB/s: 7 × 50 = 350, 8 × 40 = 320 and 9 × 40 = 360 fit, but 8 × 50 = 400 does not.
    for (gpus, speed) in [(6, 50.0), (7, 40.0), (8, 40.0)] {
        let tuning = Tuning::new(Servers::new(1, gpus, gpus, 50.0, Gpu::H100));
        assert_eq!((tuning.graphs().nvls.channels, tuning.graphs().nvls.intra), (gpus, speed));
    }
}
