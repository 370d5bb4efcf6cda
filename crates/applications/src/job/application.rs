//! Jobs as an application: the programs of the ranks at a host.

use xoff_engine::state::PeriodKind;
use xoff_models::frames::framing::Framing;
use xoff_models::frames::message::{MessageId, Post};
use xoff_models::ports::effects::Effects;
use xoff_models::traffic::application::{Application, Cycle, Loops};
use xoff_units::Moment;

use super::handover::Delay;
use super::loops::JobLoops;
use super::piece::Way;
use super::program::{Program, Programs};

impl Application for Programs {
    fn starts(&self) -> Vec<(Moment, u8, u32)> {
        self.0.iter().map(Program::start).zip(0..).map(|(at, of)| (at, of, 0)).collect()
    }

    fn begin(&mut self, of: u8, _what: u32, effects: &mut Effects) {
        let program = &mut self.0[usize::from(of)];
        program.begin_all();
        program.go_on(of, effects);
    }

    fn compute(&mut self, of: u8, place: u32, effects: &mut Effects) {
        let program = &mut self.0[usize::from(of)];
        if program.active.get(&place).is_some_and(|active| !active.is_launched) {
            program.launch(place, effects);
        } else {
            program.end(place, None, effects.now);
        }
        program.go_on(of, effects);
    }

    fn on_timer(&mut self, of: u8, delay: u32, effects: &mut Effects) {
        let program = &mut self.0[usize::from(of)];
        program.hand_over(Delay::of(delay), effects);
        program.go_on(of, effects);
    }

    fn deliver(&mut self, post: &Post, posted: Moment, effects: &mut Effects) {
        let id = post.id;
        if let Some((of, place)) = self.find(id, true) {
            let program = &mut self.0[usize::from(of)];
            program.arrive(place, id.place, posted, effects);
            program.go_on(of, effects);
        }
    }

    fn relays(&mut self, (job, rank): (u32, u32), post: &Post, effects: &mut Effects) -> bool {
        let Some(program) = self.0.iter_mut().find(|p| (p.job, p.rank) == (job, rank)) else { return false };
        let relays = matches!(program.outgoing(post.id.number, post.id.place).way, Way::Nic(_));
        if relays {
            program.offer(post.id, post.after, effects);
        }
        relays
    }

    fn leave(&mut self, id: MessageId, effects: &mut Effects) {
        if let Some((of, place)) = self.find(id, false) {
            let program = &mut self.0[usize::from(of)];
            program.leave(place, id.place, effects.now);
            program.go_on(of, effects);
        }
    }

    fn counts_slots(&self) -> bool {
        self.0.iter().any(|program| program.handovers.is_some())
    }

    fn free_slot(&mut self, flow: u32, effects: &mut Effects) {
        for program in &mut self.0 {
            if program.free_slot(flow, effects) {
                return;
            }
        }
    }

    fn release(&mut self, number: u32, effects: &mut Effects) {
        for (of, program) in (0..).zip(&mut self.0) {
            if !program.awaits.is_empty() {
                program.hear(number);
                program.go_on(of, effects);
            }
        }
    }

    fn goes_on(&self, now: Moment) -> bool {
        let computes = |program: &Program| {
            program.active.values().any(|a| (a.to_come == 0 && a.to_leave == 0) || !a.is_launched)
        };
        self.0.iter().any(|program| program.start() >= now || computes(program)) || !self.is_handed_over()
    }

    fn is_handed_over(&self) -> bool {
        self.0.iter().all(|program| program.handovers.as_ref().is_none_or(|h| h.is_empty()))
    }

    fn follow(&mut self, kind: PeriodKind) -> u64 {
        self.0.iter_mut().map(|program| program.follow(kind)).sum()
    }

    fn cycle(&self, kind: PeriodKind, framing: &Framing) -> Option<Cycle> {
        self.0.iter().find_map(|program| program.cycle(kind, framing))
    }

    fn loops(&self) -> Option<Box<dyn Loops>> {
        Some(Box::new(JobLoops::default()))
    }

    fn messages_left(&self) -> Vec<u32> {
        self.collectives().map(|(_, progress)| progress.run.end - progress.posted).collect()
    }

    fn packets_in_loop(&self, framing: &Framing) -> u64 {
        self.0.iter().map(|program| program.packets_in_loop(framing)).sum()
    }

    fn copy(&self) -> Box<dyn Application> {
        Box::new(self.clone())
    }
}
