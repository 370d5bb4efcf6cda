//! The source: holds the flow, the destination or the queue named by a message.

use xoff_engine::state;
use xoff_units::{Duration, Moment, index, number};

use super::params::Hold;
use crate::frames::kinds::Sfcm;
use crate::frames::packet::Packet;
use crate::parts::ids::{Classes, PortId};
use crate::ports::core::Queues;
use crate::ports::effects::{Asker, Effect, Effects};

/// SFC at an obeying host.
#[derive(Debug, Clone)]
pub struct Source {
    hold: Hold,
    /// For each port and class: the end of the hold.
    held: Vec<Moment>,
}

state!(Source {
    dues: held;
    constant: hold;
});

const CLASSES: Classes = Classes(8);

impl Source {
    pub fn new(hold: Hold) -> Self {
        Self { hold, held: Vec::new() }
    }

    pub fn on_message(&mut self, message: &Packet, port: PortId, effects: &mut Effects) {
        let Some(Sfcm { destination, pause }) = message.payload() else { return };
        // A resume holds until now, which is not at all.
        let until = effects.now + Duration::ns(u64::from(pause));
        match self.hold {
            Hold::Flow if pause == 0 => effects.push(Effect::ReleaseFlow(message.flow())),
            Hold::Flow => effects.push(Effect::HoldFlow(message.flow(), until)),
            Hold::Destination => effects.push(Effect::HoldDestination(destination, until)),
            Hold::Queue => self.hold_queue(port, message.class(), pause == 0, until, effects),
        }
    }

    fn hold_queue(&mut self, port: PortId, class: u8, is_resume: bool, until: Moment, effects: &mut Effects) {
        let index = CLASSES.group(port, class);
        if self.held.len() <= index {
            self.held.resize(index + 1, Moment::ZERO);
        }
        let held = &mut self.held[index];
        if is_resume {
            *held = effects.now;
            effects.push(Effect::Unblock(port, Queues::Class(class)));
        } else if until > *held {
            *held = until;
            effects.push(Effect::Block(port, Queues::Class(class), Asker::Itself));
            effects.push(Effect::Timer(until, number(index)));
        }
    }

    pub fn on_timer(&mut self, token: u32, effects: &mut Effects) {
        let index = index(token);
        if self.held[index] <= effects.now {
            let (port, class) = CLASSES.of(index);
            effects.push(Effect::Unblock(port, Queues::Class(class)));
        }
    }
}
