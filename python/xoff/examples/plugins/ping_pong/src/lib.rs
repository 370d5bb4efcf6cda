//! Ping-pong, a plug-in of xoff: pairs of hosts send a message to and fro, and think before each.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use xoff_models::effects::Effects;
use xoff_models::plugins::{Entry, Plugin};
use xoff_models::records::table::{Column, Data, Table};
use xoff_models::state::{Offsets, Row};
use xoff_models::traffic::application::{Connection, Member, Names, Seat, Unit, Units};
use xoff_models::workload::{Host, Making, Problem, Traffic};
use xoff_units::{Bytes, Duration, Moment};

/// The parts of the plug-in.
pub static PLUGIN: Plugin = Plugin {
    workloads: &[Entry::workload::<Params>("ping_pong", "Pairs of hosts that send to and fro.")],
    ..Plugin::new("ping_pong", env!("CARGO_PKG_VERSION"))
};

/// `workload[].plugins.ping_pong`
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Params {
    /// Pairs of hosts; the first of a pair begins.
    pub pairs: Vec<[Host; 2]>,
    /// Size of a message.
    pub size: Bytes,
    /// Time between the arrival of a message and the next message.
    pub think: Duration,
    /// Messages of each host.
    pub rounds: u32,
}

impl Traffic for Params {
    fn make<'a>(&'a self, making: &mut Making<'a>) -> Result<(), Problem> {
        let key = making.key();
        making.check_size(self.size, &key)?;
        let bytes = self.size.0 * u64::from(self.rounds);
        let packets = making.framing.packets(self.size.0) * u64::from(self.rounds);
        let way = |from, to| Connection { from, to, line: 0, messages: self.rounds, bytes, packets, class: None };
        for (i, [a, b]) in self.pairs.iter().enumerate() {
            let at = format!("{key}.pairs[{i}]");
            let nodes = vec![making.host(a, &at)?, making.host(b, &at)?];
            making.check_ends(nodes[0], nodes[1], &at)?;
            let pair = Pair { start: making.workload.start, size: self.size.0, think: self.think, rounds: self.rounds };
            let unit = making.plan::<Units<Pair>>()?.add(pair, nodes.clone());
            making.connect::<Units<Pair>>(unit, nodes, vec![way(0, 1), way(1, 0)], false)?;
        }
        Ok(())
    }

    fn has_messages(&self) -> bool {
        true
    }
}

/// A pair of hosts.
#[derive(Debug, Clone, PartialEq)]
pub struct Pair {
    start: Moment,
    size: u64,
    think: Duration,
    rounds: u32,
}

impl Unit for Pair {
    const NAME: &'static str = "ping_pong";
    type Member = Player;

    fn start(&self) -> Moment {
        self.start
    }

    fn member(&self, seat: Seat) -> Player {
        Player { pair: self.clone(), seat, thinks: false, sent: 0, sent_at: Moment::ZERO, turns: Vec::new() }
    }

    fn tables(rows: &[(u32, u32, u32, Turn)], names: &Names) -> Vec<Table> {
        let times = |of: fn(&Turn) -> Moment| Data::U64(rows.iter().map(|row| of(&row.3).ps()).collect());
        let columns = vec![
            Column { name: "pair", meaning: "Index of the pair.", data: Data::U32(rows.iter().map(|row| row.0).collect()) },
            Column { name: "host", meaning: "The host.", data: names.node(rows.iter().map(|row| row.1)) },
            Column { name: "sent_ps", meaning: "The host sent.", data: times(|turn| turn.sent) },
            Column { name: "answered_ps", meaning: "The answer was whole.", data: times(|turn| turn.answered) },
        ];
        vec![Table { name: "turns", about: "One row for each answer.", columns }]
    }

    fn summary(rows: &[(u32, u32, u32, Turn)]) -> Value {
        let times = rows.iter().map(|row| (row.3.answered - row.3.sent).ps());
        json!({ "turns": rows.len(), "longest_ps": times.max() })
    }
}

/// From a message to its answer.
#[derive(Debug, Clone, Copy)]
pub struct Turn {
    sent: Moment,
    answered: Moment,
}

impl Row for Turn {
    fn shift(&mut self, by: Duration, _: &dyn Offsets) {
        self.sent += by;
        self.answered += by;
    }
}

/// One host of a pair.
#[derive(Debug, Clone)]
pub struct Player {
    pair: Pair,
    seat: Seat,
    thinks: bool,
    /// Messages so far, and the moment of the last.
    sent: u32,
    sent_at: Moment,
    turns: Vec<Turn>,
}

xoff_models::state!(Player { value: thinks; moment: sent_at; total: sent; rows: turns; constant: pair, seat; });

impl Player {
    fn send(&mut self, effects: &mut Effects) {
        (self.thinks, self.sent, self.sent_at) = (false, self.sent + 1, effects.now);
        self.seat.send(self.seat.member, self.pair.size, effects);
    }
}

impl Member for Player {
    type Row = Turn;

    fn begin(&mut self, effects: &mut Effects) {
        if self.seat.member == 0 {
            self.send(effects);
        }
    }

    fn computed(&mut self, effects: &mut Effects) {
        self.send(effects);
    }

    fn arrived(&mut self, _connection: u32, _posted: Moment, effects: &mut Effects) {
        if self.sent > 0 {
            self.turns.push(Turn { sent: self.sent_at, answered: effects.now });
        }
        if self.sent < self.pair.rounds {
            self.thinks = true;
            self.seat.compute(self.pair.think, effects);
        }
    }

    fn goes_on(&self) -> bool {
        self.thinks
    }

    fn rounds(&self) -> (u32, Vec<u64>) {
        (self.pair.rounds - self.sent, vec![self.pair.size])
    }

    fn take_rows(&mut self) -> Vec<Turn> {
        std::mem::take(&mut self.turns)
    }
}
