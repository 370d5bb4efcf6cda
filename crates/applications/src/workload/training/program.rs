//! The program of each rank of a training job, operation by operation.
//!
//! With A = bytes of a number × tokens of a micro-batch on a rank × hidden, forward in each layer: CP gathers
//! keys and values. TP all-reduces A after attention and after the network; with SP, TP gathers A before and
//! reduce-scatters A after each. A · top-k / TP goes to experts and back by all-to-all, with gathers and
//! scatters of A · top-k by TP in between. The backward pass is the reverse. At the ends TP reduces
//! embeddings forward and logits backward, and three numbers per token for the loss. Stages pass on A, or A /
//! TP with SP. Replicas reduce gradients by buckets; with `ZeRO` replicas scatter gradients and gather
//! parameters after the optimizer; with `ZeRO` 3 the parameters of a layer are gathered before each pass, one
//! layer ahead.

use rustc_hash::FxHashMap;
use xoff_engine::random::Stream;
use xoff_models::parts::param_error::ParamError;
use xoff_models::parts::streams::normal;
use xoff_units::{Duration, number};

use super::parallel::{Axis, Parallel, Place};
use super::params::{Collectives, Params};
use super::schedule::{Pass, passes};
use crate::job::collective::Operation as Does;
use crate::job::experts::Experts;
use crate::job::{Builder, Graph, Operation, Shared, What, Work};
use crate::language_model::Model;

/// Makes the programs of all ranks.
pub fn build(
    params: &Params,
    model: Model,
    micro_batches: u64,
    builder: Builder,
    streams: Vec<Stream>,
) -> Result<Graph, ParamError> {
    let mut all = All {
        params,
        model,
        micro_batches,
        builder,
        groups: FxHashMap::default(),
        shared: FxHashMap::default(),
    };
    for (rank, stream) in (0..).zip(streams) {
        Program::new(&mut all, rank, stream).list()?;
    }
    Ok(all.builder.build())
}

/// The common state of all ranks.
struct All<'a> {
    params: &'a Params,
    model: Model,
    micro_batches: u64,
    builder: Builder,
    /// Groups by axis and first rank.
    groups: FxHashMap<(Axis, u64), u32>,
    /// Numbers of collectives by group and turn, and of messages by key.
    shared: FxHashMap<Key, u32>,
}

/// The key by which several ranks know a collective or message.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
enum Key {
    Collective(u32, u32),
    /// For an activation or its gradient: the iteration, the pass that makes the data, and the rank of that
    /// pass.
    Message(u64, Pass, u64),
}

/// A rank's program during the listing.
struct Program<'a, 'b> {
    all: &'b mut All<'a>,
    rank: u64,
    place: Place,
    stream: Stream,
    iteration: u16,
    /// The last sequential operation.
    last: Option<u32>,
    /// The last operation on gradients and parameters of replicas, which run in parallel.
    aside: Option<u32>,
    /// The last computations, the newest first. A gather for a layer may begin with the layer before.
    computed: [Option<u32>; 2],
    /// Number of collectives of each group so far.
    turns: FxHashMap<u32, u32>,
    /// Gradients that wait for their bucket: of shared parameters, and of experts.
    waiting: [u64; 2],
    /// Layers with complete gradients in this iteration.
    complete: u64,
}

impl<'a, 'b> Program<'a, 'b> {
    fn new(all: &'b mut All<'a>, rank: u64, stream: Stream) -> Self {
        let place = all.params.parallel.place(rank);
        Self {
            all,
            rank,
            place,
            stream,
            iteration: 0,
            last: None,
            aside: None,
            computed: [None; 2],
            turns: FxHashMap::default(),
            waiting: [0; 2],
            complete: 0,
        }
    }

    fn parallel(&self) -> &'a Parallel {
        &self.all.params.parallel
    }

    /// Layers of a piece of the model.
    fn layers(&self) -> u64 {
        self.all.model.layers / (self.parallel().pipeline * self.parallel().interleave)
    }

    /// Tokens of a micro-batch on a rank.
    fn tokens(&self) -> u64 {
        self.all.params.micro_batch * self.all.model.sequence / self.parallel().context
    }

    /// Bytes of the activations of a micro-batch.
    fn activations(&self) -> u64 {
        self.all.params.bytes.activation * self.tokens() * self.all.model.hidden
    }

    fn list(&mut self) -> Result<(), ParamError> {
        let Parallel { pipeline, interleave, .. } = *self.parallel();
        for iteration in 0..self.all.params.iterations {
            self.iteration = iteration as u16;
            (self.waiting, self.complete) = ([0; 2], 0);
            for pass in passes(self.place.stage, pipeline, interleave, self.all.micro_batches) {
                if pass.is_forward { self.forward(pass)? } else { self.backward(pass)? }
            }
            self.update()?;
        }
        Ok(())
    }

    /// The number of a pass's piece among all pieces of the model.
    fn piece(&self, pass: Pass) -> u64 {
        pass.piece * self.parallel().pipeline + self.place.stage
    }

    fn is_first(&self, pass: Pass) -> bool {
        self.piece(pass) == 0
    }

    fn is_last(&self, pass: Pass) -> bool {
        self.piece(pass) + 1 == self.parallel().pipeline * self.parallel().interleave
    }

    fn forward(&mut self, pass: Pass) -> Result<(), ParamError> {
        let (way, micro_batch) = ("forward", pass.micro_batch);
        if self.is_first(pass) {
            let does = if self.parallel().sequence { Does::ReduceScatter } else { Does::AllReduce };
            self.between(
                Axis::Tensor,
                does,
                self.activations(),
                &format!("embedding of micro-batch {micro_batch}"),
            )?;
        } else {
            self.receive(pass);
        }
        for layer in 0..self.layers() {
            let layer = self.piece(pass) * self.layers() + layer;
            let name = format!("{way} of layer {layer}, micro-batch {micro_batch}");
            self.gather(layer, &name)?;
            self.keys_and_values(Does::AllGather, &name)?;
            self.shared_by_tensor(Half::Attention(layer), way, &name)?;
            self.network(layer, way, &name)?;
        }
        if self.is_last(pass) {
            if self.parallel().sequence {
                self.between(
                    Axis::Tensor,
                    Does::AllGather,
                    self.activations(),
                    &format!("logits of micro-batch {micro_batch}"),
                )?;
            }
            self.logits(way, micro_batch);
            let loss = 3 * 4 * self.tokens();
            self.between(Axis::Tensor, Does::AllReduce, loss, &format!("loss of micro-batch {micro_batch}"))?;
        } else {
            self.send(pass);
        }
        Ok(())
    }

    fn backward(&mut self, pass: Pass) -> Result<(), ParamError> {
        let (way, micro_batch) = ("backward", pass.micro_batch);
        if self.is_last(pass) {
            self.logits(way, micro_batch);
            let does = if self.parallel().sequence { Does::ReduceScatter } else { Does::AllReduce };
            self.between(
                Axis::Tensor,
                does,
                self.activations(),
                &format!("logits of micro-batch {micro_batch}"),
            )?;
        } else {
            self.receive(pass);
        }
        for layer in (0..self.layers()).rev() {
            let layer = self.piece(pass) * self.layers() + layer;
            let name = format!("{way} of layer {layer}, micro-batch {micro_batch}");
            self.gather(layer, &name)?;
            self.network(layer, way, &name)?;
            self.shared_by_tensor(Half::Attention(layer), way, &name)?;
            self.keys_and_values(Does::ReduceScatter, &name)?;
            self.gradients(micro_batch, layer)?;
        }
        if !self.is_first(pass) {
            self.send(pass);
        } else if self.parallel().sequence {
            self.between(
                Axis::Tensor,
                Does::AllGather,
                self.activations(),
                &format!("embedding of micro-batch {micro_batch}"),
            )?;
        }
        Ok(())
    }

    /// Lists attention or a network, and the exchange of tensor-parallel ranks.
    fn shared_by_tensor(&mut self, half: Half, way: &'static str, name: &str) -> Result<(), ParamError> {
        let (bytes, what) = (self.activations(), half.name());
        if self.parallel().sequence {
            self.between(Axis::Tensor, Does::AllGather, bytes, &format!("{what} {name}"))?;
        }
        self.compute(half.time(self, way), &format!("{what} {name}"));
        let after = if self.parallel().sequence { Does::ReduceScatter } else { Does::AllReduce };
        self.between(Axis::Tensor, after, bytes, &format!("{what} {name}"))
    }

    /// Lists the network of a layer, or its experts.
    fn network(&mut self, layer: u64, way: &'static str, name: &str) -> Result<(), ParamError> {
        if self.all.model.is_dense(layer) {
            return self.shared_by_tensor(Half::Network(layer), way, name);
        }
        let Model { top_k, .. } = self.all.model;
        let bytes = self.activations() * top_k;
        let routed = bytes / self.parallel().tensor;
        self.exchange(routed, &format!("to experts, {name}"), false)?;
        self.between(Axis::Tensor, Does::AllGather, bytes, &format!("experts {name}"))?;
        self.compute(Half::Network(layer).time(self, way), &format!("experts {name}"));
        self.between(Axis::Tensor, Does::ReduceScatter, bytes, &format!("experts {name}"))?;
        self.exchange(routed, &format!("from experts, {name}"), true)
    }

    fn keys_and_values(&mut self, does: Does, name: &str) -> Result<(), ParamError> {
        let model = &self.all.model;
        let tokens = self.all.params.micro_batch * model.sequence;
        // The latent of MLA is whole at each tensor-parallel rank.
        let shares = if model.latent.is_some() { 1 } else { self.parallel().tensor };
        let bytes = self.all.params.bytes.activation * tokens * model.kv_width() / shares;
        self.between(Axis::Context, does, bytes, &format!("keys and values {name}"))
    }

    fn logits(&mut self, way: &str, micro_batch: u64) {
        if self.all.params.compute.forward.is_none() {
            let flop = self.all.model.logits_flop() * if way == "forward" { 1.0 } else { 2.0 };
            self.compute(self.takes(flop), &format!("logits {way} of micro-batch {micro_batch}"));
        }
    }

    /// Returns the time of a rank for this many operations per token.
    fn takes(&self, flop: f64) -> Duration {
        let compute = &self.all.params.compute;
        let seconds =
            flop * self.tokens() as f64 / self.parallel().tensor as f64 / (compute.peak * compute.efficiency);
        Duration::of_real(seconds * 1e12)
    }

    /// Lists a computation after the last sequential operation.
    fn compute(&mut self, time: Duration, name: &str) {
        let jitter = self.all.params.compute.jitter;
        let time = if jitter == 0.0 {
            time
        } else {
            Duration::of_real(
                time.real() * (1.0 + jitter * normal(&mut self.stream).clamp(-3.0, 3.0)).max(0.0),
            )
        };
        let name = self.all.builder.name(name);
        let after = self.last;
        let place = self.add(Work::Compute(time), name, after.as_slice());
        self.last = Some(place);
        self.computed = [Some(place), self.computed[0]];
    }

    fn add(&mut self, work: Work, name: u32, after: &[u32]) -> u32 {
        let operation = Operation { work, name, iteration: self.iteration, unit: 0 };
        self.all.builder.add(self.rank as u32, operation, after)
    }

    /// Lists a collective that the next operation waits for.
    fn between(&mut self, axis: Axis, does: Does, bytes: u64, name: &str) -> Result<(), ParamError> {
        let after = self.last;
        if let Some(place) = self.collective((axis, does, bytes), name, after.as_slice(), None)? {
            self.last = Some(place);
        }
        Ok(())
    }

    /// Lists the exchange of tokens with the experts, which the next operation waits for.
    fn exchange(&mut self, bytes: u64, name: &str, combines: bool) -> Result<(), ParamError> {
        let after = self.last;
        let Model { experts, top_k, .. } = self.all.model;
        let experts = Experts { experts, top_k, copies: self.all.params.collectives.copies, combines };
        let what = (Axis::Expert, Does::AllToAll, bytes);
        if let Some(place) = self.collective(what, name, after.as_slice(), Some(experts))? {
            self.last = Some(place);
        }
        Ok(())
    }

    /// Lists a collective of this rank's group, if the group has several ranks, after other operations of the
    /// rank.
    fn collective(
        &mut self,
        (axis, does, bytes): (Axis, Does, u64),
        name: &str,
        after: &[u32],
        experts: Option<Experts>,
    ) -> Result<Option<u32>, ParamError> {
        let size = self.parallel().size(axis);
        if size == 1 || bytes == 0 {
            return Ok(None);
        }
        let members = self.parallel().group(axis, self.place);
        let own = number(members.iter().position(|rank| *rank == self.rank).unwrap_or_default());
        let All { params, builder, groups, shared, .. } = &mut *self.all;
        let known = (axis, members[0]);
        let group = *groups.entry(known).or_insert_with(|| {
            builder.group(
                &format!("{} of rank {}", axis.label(), known.1),
                members.iter().map(|rank| *rank as u32).collect(),
            )
        });
        let name = builder.name(&format!("{} {name}", does.name()));
        let turn = self.turns.entry(group).or_default();
        let key = Key::Collective(group, *turn);
        *turn += 1;
        let number = match shared.get(&key) {
            Some(number) => *number,
            None => {
                let shape = builder
                    .shape(&params.collectives.of(axis, does, bytes, builder.is_nccl(), experts), group)
                    .map_err(|(key, why)| match key {
                        "algorithm" => (Collectives::key(axis, does), why),
                        _ => (key, why),
                    })?;
                let label = builder.label(axis.label());
                let what = What::Collective { shape, group };
                let number =
                    builder.share(Shared { what, label, iteration: self.iteration, name, class: None });
                shared.insert(key, number);
                number
            }
        };
        Ok(Some(self.add(Work::Collective { number, place: own }, name, after)))
    }

    /// Returns the rank of the next or previous piece in the pipeline.
    fn neighbour(&self, is_after: bool) -> u64 {
        let stages = self.parallel().pipeline;
        let stage = (self.place.stage + if is_after { 1 } else { stages - 1 }) % stages;
        self.parallel().rank(Place { stage, ..self.place })
    }

    /// Returns the message of a pass between two ranks, by the pass that makes the data.
    fn message(&mut self, pass: Pass, from: u64, to: u64) -> (u32, u32) {
        let shares = if self.parallel().sequence { self.parallel().tensor } else { 1 };
        let (bytes, iteration) = (self.activations() / shares, self.iteration);
        let All { builder, shared, .. } = &mut *self.all;
        let what = if pass.is_forward { "activations" } else { "gradients of activations" };
        let name = builder.name(&format!("{what} of micro-batch {}", pass.micro_batch));
        let key = Key::Message(u64::from(iteration), pass, from);
        let number = *shared.entry(key).or_insert_with(|| {
            let label = builder.label("PP");
            let what = What::Message { from: from as u32, to: to as u32, channel: 0, bytes: bytes.max(1) };
            builder.share(Shared { what, label, iteration, name, class: None })
        });
        (number, name)
    }

    /// Sends the result of a pass.
    fn send(&mut self, pass: Pass) {
        let to = self.neighbour(pass.is_forward);
        let (number, name) = self.message(pass, self.rank, to);
        let after = self.last;
        self.add(Work::Send(number), name, after.as_slice());
    }

    /// Waits for the input of a pass.
    fn receive(&mut self, pass: Pass) {
        let from = self.neighbour(!pass.is_forward);
        // The pass that made it: at the other end of the pipeline of the piece before or after.
        let wraps = if pass.is_forward {
            self.place.stage == 0
        } else {
            self.place.stage + 1 == self.parallel().pipeline
        };
        let piece = match (wraps, pass.is_forward) {
            (false, _) => pass.piece,
            (true, true) => pass.piece - 1,
            (true, false) => pass.piece + 1,
        };
        let (number, name) = self.message(Pass { piece, ..pass }, from, self.rank);
        let after = self.last;
        self.last = Some(self.add(Work::Receive(number), name, after.as_slice()));
    }

    /// With `ZeRO` 3, gathers the parameters of a layer during the computation of the layer before.
    fn gather(&mut self, layer: u64, name: &str) -> Result<(), ParamError> {
        if self.parallel().zero < 3 {
            return Ok(());
        }
        let bytes = self.all.params.bytes.parameter;
        let [shared, own] = self.of_layer(layer);
        for (axis, parameters) in [(Axis::Data, shared), (Axis::ExpertData, own)] {
            let begins = if self.all.params.overlap { self.computed[1] } else { self.last };
            let after: Vec<u32> = begins.into_iter().chain(self.aside).collect();
            if let Some(place) = self.collective(
                (axis, Does::AllGather, bytes * parameters),
                &format!("parameters {name}"),
                &after,
                None,
            )? {
                self.aside = Some(place);
                self.last = Some(self.join(self.last, place));
            }
        }
        Ok(())
    }

    /// Lists an operation without length after two others.
    fn join(&mut self, one: Option<u32>, other: u32) -> u32 {
        let Some(one) = one.filter(|one| *one != other) else { return other };
        let name = self.all.builder.name("both are there");
        self.add(Work::Compute(Duration::ZERO), name, &[one, other])
    }

    /// Parameters of a layer on this rank: shared parameters, and those of its experts.
    fn of_layer(&self, layer: u64) -> [u64; 2] {
        let (model, parallel) = (&self.all.model, self.parallel());
        let (shared, experts) = if model.is_dense(layer) {
            (model.network(), 0)
        } else {
            (model.beside_experts(), model.expert() * model.experts / parallel.expert)
        };
        [(model.attention() + shared) / parallel.tensor, experts / parallel.tensor]
    }

    /// Parameters of all layers on this rank: shared parameters, and those of its experts.
    fn of_layers(&self) -> [u64; 2] {
        let Parallel { pipeline, interleave, .. } = *self.parallel();
        let mut sum = [0; 2];
        for piece in 0..interleave {
            let first = (piece * pipeline + self.place.stage) * self.layers();
            for layer in first..first + self.layers() {
                let [shared, own] = self.of_layer(layer);
                sum = [sum[0] + shared, sum[1] + own];
            }
        }
        sum
    }

    /// Parameters of a rank at the ends of the model.
    fn of_ends(&self) -> u64 {
        let (model, parallel) = (&self.all.model, self.parallel());
        let vectors = model.vocabulary * model.hidden / parallel.tensor;
        let (first, last) = (self.place.stage == 0, self.place.stage + 1 == parallel.pipeline);
        let positions = if model.positions && first { model.sequence * model.hidden } else { 0 };
        u64::from(first) * vectors + u64::from(last) * vectors + positions
    }

    /// Completes the gradients of a layer with the last micro-batch, and reduces a full bucket.
    fn gradients(&mut self, micro_batch: u64, layer: u64) -> Result<(), ParamError> {
        if self.parallel().zero == 3 {
            // Of each micro-batch, since nobody keeps them.
            self.waiting = self.of_layer(layer);
            return self.reduce(&format!("gradients of layer {layer}, micro-batch {micro_batch}"));
        }
        if micro_batch + 1 != self.all.micro_batches {
            return Ok(());
        }
        let of_layer = self.of_layer(layer);
        for (sum, of) in self.waiting.iter_mut().zip(of_layer) {
            *sum += of;
        }
        let layers = self.layers() * self.parallel().interleave;
        let buckets = self.all.params.buckets.min(layers);
        let (before, after) = (self.complete * buckets / layers, (self.complete + 1) * buckets / layers);
        self.complete += 1;
        // The last bucket has what is at the ends, too, and comes when everything is done.
        if before < after && self.complete < layers && self.all.params.overlap {
            return self.reduce(&format!("gradients, bucket {before}"));
        }
        Ok(())
    }

    /// Reduces the waiting gradients in parallel to computations.
    fn reduce(&mut self, name: &str) -> Result<(), ParamError> {
        let does = if self.parallel().zero == 0 { Does::AllReduce } else { Does::ReduceScatter };
        let waiting = std::mem::take(&mut self.waiting);
        for (axis, parameters) in [(Axis::Data, waiting[0]), (Axis::ExpertData, waiting[1])] {
            let after: Vec<u32> =
                self.last.into_iter().chain(self.aside.filter(|aside| Some(*aside) != self.last)).collect();
            let bytes = self.all.params.bytes.gradient * parameters;
            if let Some(place) = self.collective((axis, does, bytes), name, &after, None)? {
                self.aside = Some(place);
            }
        }
        Ok(())
    }

    /// Ends an iteration: the remaining gradients, the optimizer, and the changed parameters.
    fn update(&mut self) -> Result<(), ParamError> {
        let ends = self.of_ends();
        let [shared, own] = self.of_layers();
        self.waiting[0] += ends;
        self.reduce("gradients, last bucket")?;
        if let Some(aside) = self.aside {
            self.last = Some(self.join(self.last, aside));
        }
        self.compute(self.all.params.compute.optimizer, "optimizer");
        if matches!(self.parallel().zero, 1 | 2) {
            let bytes = self.all.params.bytes.parameter;
            self.between(Axis::Data, Does::AllGather, bytes * (shared + ends), "parameters")?;
            self.between(Axis::ExpertData, Does::AllGather, bytes * own, "parameters of experts")?;
        }
        self.aside = None;
        Ok(())
    }
}

/// The halves of a layer.
#[derive(Debug, Clone, Copy)]
enum Half {
    /// Attention of any layer.
    Attention(u64),
    /// The network, or the experts, of a layer.
    Network(u64),
}

impl Half {
    const fn name(self) -> &'static str {
        match self {
            Self::Attention(_) => "attention",
            Self::Network(_) => "network",
        }
    }

    /// Returns the time on a rank. A measured time of a layer is divided in proportion to operations.
    fn time(self, of: &Program<'_, '_>, way: &str) -> Duration {
        let (model, compute) = (&of.all.model, &of.all.params.compute);
        let (Self::Attention(layer) | Self::Network(layer)) = self;
        let (attention, network) = (model.attention_flop(), model.network_flop(layer));
        let flop = match self {
            Self::Attention(_) => attention,
            Self::Network(_) => network,
        };
        let is_forward = way == "forward";
        match compute.forward {
            None => of.takes(flop * if is_forward { 1.0 } else { 2.0 }),
            Some(forward) => {
                let whole =
                    if is_forward { forward } else { compute.backward.unwrap_or(Duration(2 * forward.ps())) };
                let first = Duration::of_real(whole.real() * attention / (attention + network));
                match self {
                    Self::Attention(_) => first,
                    Self::Network(_) => whole - first,
                }
            }
        }
    }
}
