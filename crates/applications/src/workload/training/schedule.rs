//! The order in which a stage of a pipeline takes the passes of micro-batches.
//!
//! 1F1B (Narayanan et al., SC'21): as many forward passes as stages follow, then one forward and one backward
//! in turn, then the remaining backward passes. An interleaved stage has several pieces of the model, and
//! takes micro-batches through each piece in groups of the length of the pipeline (Megatron-LM,
//! `schedules.py`).

/// A pass of a micro-batch through a piece of the model.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Pass {
    pub is_forward: bool,
    /// The piece of the stage.
    pub piece: u64,
    pub micro_batch: u64,
}

/// The passes of a stage, in order.
pub fn passes(stage: u64, stages: u64, pieces: u64, micro_batches: u64) -> Vec<Pass> {
    let total = pieces * micro_batches;
    let ahead =
        if pieces == 1 { stages - 1 - stage } else { 2 * (stages - 1 - stage) + (pieces - 1) * stages };
    // With as many micro-batches as stages there is nothing to take turns with.
    let ahead = if pieces > 1 && micro_batches == stages { total } else { ahead.min(total) };
    let pass = |is_forward: bool, turn: u64| {
        if pieces == 1 {
            return Pass { is_forward, piece: 0, micro_batch: turn };
        }
        let (round, within) = (turn / (stages * pieces), turn % (stages * pieces));
        let piece = within / stages;
        let piece = if is_forward { piece } else { pieces - 1 - piece };
        Pass { is_forward, piece, micro_batch: round * stages + within % stages }
    };
    let mut list = Vec::with_capacity(2 * total as usize);
    list.extend((0..ahead).map(|turn| pass(true, turn)));
    for turn in 0..total - ahead {
        list.push(pass(true, ahead + turn));
        list.push(pass(false, turn));
    }
    list.extend((total - ahead..total).map(|turn| pass(false, turn)));
    list
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    #[test]
    fn every_pass_comes_once_and_forward_before_backward() {
        for (stages, pieces, micro_batches) in
            [(1, 1, 3), (4, 1, 8), (4, 1, 2), (4, 2, 8), (2, 3, 4), (4, 2, 4)]
        {
            for stage in 0..stages {
                let list = passes(stage, stages, pieces, micro_batches);
                assert_eq!(list.len() as u64, 2 * pieces * micro_batches);
                assert_eq!(list.iter().collect::<HashSet<_>>().len(), list.len());
                for (at, pass) in list.iter().enumerate().filter(|(_, pass)| !pass.is_forward) {
                    assert!(
                        list[..at].contains(&Pass { is_forward: true, ..*pass }),
                        "{stages} {pieces} {micro_batches} {pass:?}"
                    );
                }
            }
        }
    }

    #[test]
    fn the_last_of_four_stages_takes_turns_from_the_beginning() {
        let words = |stage| {
            let list = passes(stage, 4, 1, 6);
            list.iter()
                .map(|p| format!("{}{}", if p.is_forward { "F" } else { "B" }, p.micro_batch))
                .collect::<Vec<_>>()
                .join(" ")
        };
        assert_eq!(words(3), "F0 B0 F1 B1 F2 B2 F3 B3 F4 B4 F5 B5");
        assert_eq!(words(1), "F0 F1 F2 B0 F3 B1 F4 B2 F5 B3 B4 B5");
    }
}
