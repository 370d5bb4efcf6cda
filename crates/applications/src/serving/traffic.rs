//! The messages of a rank: rings of tensor-parallel ranks, tokens and results of experts, and KV caches.
//!
//! In a dispatch or combine a rank sends each other rank of the group exactly one message. With copies for each server
//! the messages take rails.

use xoff_models::frames::message::{After, MessageId, Post};
use xoff_models::ports::effects::{Effect, Effects};
use xoff_units::{Duration, Moment, index, number};

use super::batch::Part;
use super::control::Control;
use super::exchange::expert_bytes;
use super::plan::{Connects, Kind, NUMBER, Plan, job_of, place_in_operation, sender_of};
use super::worker::{KV, Receiving, Worker};

impl Worker {
    /// Sends the ready messages of a ring.
    pub(super) fn pass_ring(&mut self, number: u32, effects: &mut Effects) {
        let ranks = self.pool().tensor;
        let next = self.plan.ranks_of(self.seat.dp).start + (self.seat.tensor + 1) % ranks;
        let place = self.seat.tensor;
        while let Some(exchange) = self.exchange_of(number)
            && exchange.ring_goes_on()
        {
            let (operation, bytes) = (exchange.number, exchange.ring_bytes(ranks, place));
            let of_ring = exchange.sent;
            exchange.sent += 1;
            self.post(Kind::Tensor, next, (operation, of_ring), bytes, effects);
        }
    }

    /// Sends one message to each other rank of the group, or on each rail.
    pub(super) fn send_to_experts(&mut self, number: u32, effects: &mut Effects) {
        let Some(exchange) = self.exchange_of(number).copied() else { return };
        let (kind, operation) = (exchange.kind, exchange.number);
        if self.rails.is_some() {
            self.send_by_rails(kind, operation, effects);
        } else {
            let group = self.plan.expert_group(self.seat.dp);
            let (start, size) = (group.start, group.end - group.start);
            // Each rank begins with the next rank, so that no rank is the first for all.
            for to in (1..size).map(|step| start + (self.rank - start + step) % size) {
                let bytes = self.bytes_for_rank(kind, operation, to);
                self.post(kind, to, (operation, 0), bytes, effects);
            }
        }
        if let Some(exchange) = self.exchange_of(number) {
            exchange.sent = exchange.total;
        }
    }

    /// Returns the layer with experts and the micro-batch of an operation.
    fn part_of(&self, operation: u32) -> (u32, u32) {
        let pool = self.pool();
        let layer = operation / pool.micro_batches % self.plan.exchanging_layers(pool);
        (layer, operation % pool.micro_batches)
    }

    /// Returns the bytes of a message to a rank with experts for the own tokens, or with results for the tokens of
    /// the rank.
    fn bytes_for_rank(&self, kind: Kind, operation: u32, to: u32) -> u64 {
        let (of, with_experts, size) = match kind {
            Kind::Dispatch => (self.rank, to, self.plan.dispatch),
            _ => (to, self.rank, self.plan.combine),
        };
        self.expert_bytes(operation, of, with_experts, size)
    }

    /// Returns the bytes of the tokens of a rank, or of results for these tokens, at another rank.
    fn expert_bytes(&self, operation: u32, of: u32, with_experts: u32, size: u64) -> u64 {
        let (layer, number) = self.part_of(operation);
        let copies = self.pool().to_rank(layer, self.place_of(with_experts));
        expert_bytes(copies, self.tokens_of(of, number), size)
    }

    /// Returns the tokens of a rank in a micro-batch of the latest step.
    fn tokens_of(&self, rank: u32, number: u32) -> u64 {
        let seat = self.plan.seat(rank);
        let place = index(seat.dp - self.plan.unit_of(seat.dp).start);
        let of_each = self.orders.get(index(number)).map(|order| &order.of_each);
        let tokens = of_each.and_then(|of_each| of_each.get(place)).copied().unwrap_or(0);
        Plan::share(tokens, self.pool().tensor, seat.tensor)
    }

    /// Posts a message of an operation, with the number of the operation and of the message.
    fn post(&self, kind: Kind, to: u32, of: (u32, u32), bytes: u64, effects: &mut Effects) {
        let key = Connects { from: self.rank, to, kind };
        let id =
            MessageId { job: job_of(self.plan.number, self.rank), number: of.0, place: kind.place(of.1, to) };
        let way = |ways: &[(Connects, u32)]| {
            ways.binary_search_by_key(&key, |one| one.0).ok().map(|place| ways[place].1)
        };
        if let Some(flow) = way(&self.ways[0]) {
            effects.push(Effect::Post(Post { id, flow, bytes, after: After::Begun }));
        } else if let Some(queue) = way(&self.ways[1]) {
            let post = Post { id, flow: Post::NVLINK, bytes, after: After::Begun };
            effects.push(Effect::SendSlice(queue, post));
        }
    }

    /// Sends layers of a KV cache after the overhead.
    pub(super) fn hand_off(&mut self, part: Part, layers: u32, effects: &mut Effects) {
        if self.plan.kv_overhead == Duration::ZERO {
            return self.send_kv(part, layers, effects);
        }
        self.leaving.push_back((part, layers));
        effects.push(Effect::Call(NUMBER, self.own, effects.now + self.plan.kv_overhead, KV));
    }

    pub(super) fn send_kv(&mut self, part: Part, layers: u32, effects: &mut Effects) {
        let piece = self.pieces;
        self.pieces += 1;
        let first = self.plan.ranks_of(part.to).start;
        if self.plan.shares_nics() {
            self.report(Control::Began(part.request, effects.now), effects);
        }
        for (to, bytes) in self.plan.heads.sent(self.seat.tensor) {
            let (to, bytes) = (first + to, part.tokens * u64::from(layers) * bytes);
            if self.plan.takes_all_nics(self.rank, to) {
                self.send_to_nics(part.request, to, bytes, effects);
            } else {
                let number = if self.plan.shares_nics() { to } else { piece };
                self.post(Kind::Kv, to, (part.request, number), bytes, effects);
            }
        }
    }

    /// Sends parts of a message with a KV cache to all NICs of the server.
    fn send_to_nics(&self, request: u32, to: u32, bytes: u64, effects: &mut Effects) {
        let peers = self.plan.peers(self.rank);
        for (place, out) in (0..).zip(peers) {
            let next = if *out == self.rank { self.plan.next_hop(*out, to) } else { *out };
            let part = Plan::share(bytes, number(peers.len()), place);
            if part > 0 {
                self.post(Kind::Kv, next, (request, to), part, effects);
            }
        }
    }

    /// Passes a part of a KV cache on to the next rank. True if the message is for another rank.
    pub(super) fn pass_on_kv(&self, post: &Post, effects: &mut Effects) -> bool {
        let to = place_in_operation(post.id.place);
        if !self.plan.shares_nics() || to == self.rank {
            return false;
        }
        self.post(Kind::Kv, self.plan.next_hop(self.rank, to), (post.id.number, to), post.bytes, effects);
        true
    }

    /// A message with a part of a KV cache is here.
    pub(super) fn receive_kv(&mut self, request: u32, bytes: u64, posted: Moment, effects: &mut Effects) {
        let of_request = self.plan.requests[index(request)].input * u64::from(self.plan.layers);
        let all = of_request * self.plan.kv_bytes_of(self.seat.tensor);
        let known = self.receiving.entry(request).or_insert(Receiving { bytes: 0, first: posted });
        known.bytes += bytes;
        known.first = known.first.min(posted);
        if known.bytes >= all {
            let first = known.first;
            self.receiving.remove(&request);
            self.report(Control::Received(request, first, effects.now), effects);
        }
    }
}

/// Copies for each server.
impl Worker {
    /// Returns the number of messages with results: from the ranks of the server, and from each other server.
    pub(super) fn answers(&self) -> Option<u32> {
        let rails = self.rails.as_ref()?;
        Some(rails.local().count() as u32 + rails.rail().count() as u32)
    }

    fn send_by_rails(&mut self, kind: Kind, number: u32, effects: &mut Effects) {
        let Some(rails) = self.rails.clone() else { return };
        let own = rails.place(self.rank);
        if kind == Kind::Dispatch {
            for to in rails.local() {
                self.post(kind, to, (number, own), self.bytes_for_rank(kind, number, to), effects);
            }
            for to in rails.rail() {
                let bytes = self.bytes_of_server(number, self.rank, to, self.plan.dispatch);
                self.post(kind, to, (number, own), bytes, effects);
            }
            return;
        }
        for to in rails.local() {
            self.post(kind, to, (number, rails.place(to)), self.bytes_for_rank(kind, number, to), effects);
        }
        for to in rails.remote() {
            let gateway = rails.gateway(to);
            if gateway == self.rank {
                self.gather(number, rails.place(to), effects);
            } else {
                let bytes = self.bytes_for_rank(kind, number, to);
                self.post(kind, gateway, (number, rails.place(to)), bytes, effects);
            }
        }
    }

    /// Returns the bytes of the tokens of a rank, or of results for these tokens, at the server of another rank.
    fn bytes_of_server(&self, operation: u32, of: u32, with_experts: u32, size: u64) -> u64 {
        let (layer, number) = self.part_of(operation);
        let copies = self.pool().to_server(layer, self.place_of(with_experts));
        expert_bytes(copies, self.tokens_of(of, number), size)
    }

    /// Passes the tokens of another server on, or gathers results for another server. True if the message is not
    /// for this rank.
    pub(super) fn pass_on(&mut self, kind: Kind, post: &Post, effects: &mut Effects) -> bool {
        let Some(rails) = self.rails.clone().filter(|_| kind != Kind::Tensor) else { return false };
        let place = place_in_operation(post.id.place);
        if kind == Kind::Combine && place != rails.place(self.rank) {
            self.gather(post.id.number, place, effects);
            return true;
        }
        let from = sender_of(post.id.job);
        if kind == Kind::Dispatch && !rails.is_local(from) {
            for to in rails.local() {
                let bytes = self.expert_bytes(post.id.number, from, to, self.plan.dispatch);
                self.post(kind, to, (post.id.number, place), bytes, effects);
            }
        }
        false
    }

    /// Adds the results of a rank of this server for a rank of another server; sends the sum of all.
    fn gather(&mut self, number: u32, place: u32, effects: &mut Effects) {
        let Some(rails) = &self.rails else { return };
        let (to, all) = (rails.rank(place), rails.gpus());
        let count = self.gathered.entry((number, place)).or_default();
        *count += 1;
        if *count == all {
            self.gathered.remove(&(number, place));
            let bytes = self.bytes_of_server(number, to, self.rank, self.plan.combine);
            self.post(Kind::Combine, to, (number, place), bytes, effects);
        }
    }
}
