//! Parts of KV caches, computing times, and choices of routers, against published numbers.

use xoff_engine::random::Stream;
use xoff_units::Duration;

use super::batch::{Order, Piece, take};
use super::costs::{Costs, Processor};
use super::handoff::Heads;
use super::plan::{Pool, Role, Shares};
use super::router::{Choice, Policy};
use crate::language_model::{Model, Params};

fn model(preset: &str) -> Model {
    let text = format!("{{ \"preset\": \"{preset}\" }}");
    serde_json::from_str::<Params>(&text).unwrap().model().unwrap()
}

fn costs(preset: &str, weight: u64, tensor: u32, expert: u32) -> Costs {
    let flops = if weight == 1 { 1979e12 } else { 989e12 };
    let processor = Processor { flops, memory: 3.35e12, kernel: Duration::ZERO };
    Costs { processor, model: model(preset), bytes: [weight, 2], tensor, expert, times: None }
}

/// The bytes of a token and layer that all ranks of a prefill group send to each decode rank.
fn received(heads: &Heads, ranks: u32) -> Vec<u64> {
    (0..ranks).map(|rank| heads.received(rank)).collect()
}

#[test]
fn decode_ranks_get_the_heads_that_they_need() {
    let qwen = model("qwen3_235b");
    let heads = |prefill, decode| Heads::new(&qwen, 2, prefill, decode).unwrap();
    // Mooncake's table: 12.62 GB for 32,768 tokens of Qwen3 at TP 8, since each of 4 heads has two holders.
    let all: u64 = received(&heads(8, 8), 8).iter().sum();
    assert_eq!(all * qwen.layers, 385_024);
    // A head of two holders goes to one decode rank only once.
    let of_head = 2 * 128 * 2;
    assert_eq!(received(&heads(8, 4), 4), [of_head; 4]);
    assert_eq!(received(&heads(2, 4), 4), [of_head; 4]);
    assert_eq!(received(&heads(4, 1), 1), [4 * of_head]);
    assert_eq!(received(&heads(1, 8), 8), [of_head; 8]);
    // Both holders of head 0 send: the first to decode rank 0, the second to decode rank 1.
    let sent = |rank| heads(8, 16).sent(rank).collect::<Vec<_>>();
    assert_eq!((sent(0), sent(1)), (vec![(0, 512), (2, 512)], vec![(1, 512), (3, 512)]));
    // The latent of MLA is whole at each rank.
    let latent = Heads::new(&model("deepseek_v3"), 2, 4, 8).unwrap();
    assert_eq!(received(&latent, 8), [2 * 576; 8]);
    assert!(Heads::new(&qwen, 2, 3, 4).is_err());
}

#[test]
fn weights_of_a_decode_step_take_the_published_floors() {
    let ms = |time: Duration| time.real() / 1e9;
    // Llama 70B with 16 bits at TP 8: 5.19 ms, and 50.1 µs for each sequence of 4,096 tokens.
    let llama = costs("llama3_70b", 2, 8, 1);
    let step = |sequences: u64| {
        let mut order = Order::default();
        (0..sequences).for_each(|_| order.add_sequence(4095));
        let layer = llama.attention(order.tokens, order.context, order.pairs) + llama.network(order.tokens);
        80.0 * ms(layer) + ms(llama.head(sequences))
    };
    assert!((step(1) - 5.19 - 0.0501).abs() < 0.06, "{}", step(1));
    assert!((step(2) - step(1) - 0.0501).abs() < 0.0002, "{}", step(2) - step(1));
    // Prefill of 4,096 tokens: 73.7 ms.
    let mut order = Order::default();
    order.add_piece(Piece { request: 0, before: 0, tokens: 4096 });
    let layer = llama.attention(order.tokens, order.context, order.pairs) + llama.network(order.tokens);
    let prefill = 80.0 * ms(layer) + ms(llama.head(1));
    assert!((prefill - 73.7).abs() < 0.1, "{prefill}");
    // DeepSeek with 8 bits on 144 ranks: 6.3 ms of weights with all experts hit, and 13.4 ms of KV caches.
    let deepseek = costs("deepseek_v3", 1, 1, 128);
    let attention = |sequences: u64, context: u64| {
        ms(deepseek.attention(sequences, sequences * context, [0, sequences * context]))
    };
    let cache = attention(128, 4989) - attention(128, 0);
    assert!((61.0 * cache - 13.4).abs() < 0.3, "{}", 61.0 * cache);
}

#[test]
fn experts_read_the_weights_of_hit_experts() {
    let deepseek = costs("deepseek_v3", 1, 1, 32);
    let one = deepseek.model.expert() as f64 / 3.35e12 * 1e12;
    // A token of all ranks hits 8 of 256 experts: 0.25 of the 8 experts of a rank. Many tokens hit all.
    assert!((deepseek.experts(deepseek.even_load(1)).real() / one - 0.25).abs() < 1e-3);
    assert!((deepseek.experts(deepseek.even_load(2000)).real() / one - 8.0).abs() < 1e-2);
    assert_eq!(deepseek.experts(deepseek.even_load(0)), Duration::ZERO);
}

#[test]
fn routers_choose_as_their_names_say() {
    let choice = |policy| Choice::new(policy, 10, 3, Stream::new(1, 0, "test"));
    let mut turns = choice(Policy::RoundRobin);
    assert_eq!([turns.choose(), turns.choose(), turns.choose(), turns.choose()], [10, 11, 12, 10]);
    let mut least = choice(Policy::LeastLoaded);
    assert_eq!([least.choose(), least.choose(), least.choose()], [10, 11, 12]);
    least.end(11);
    assert_eq!([least.choose(), least.choose()], [11, 10]);
    // Of two drawn DP ranks the less loaded gets the request: loads stay closer together than at random.
    let spread = |policy| {
        let mut choice = choice(policy);
        let mut loads = [0_i32; 3];
        (0..3000).for_each(|_| loads[choice.choose() as usize - 10] += 1);
        loads.iter().max().unwrap() - loads.iter().min().unwrap()
    };
    assert!(spread(Policy::PowerOfTwo) < 10 && spread(Policy::Random) > 10);
}

#[test]
fn prompts_fill_a_step_in_order() {
    let pool = |chunk| Pool {
        role: Role::Prefill,
        instances: 1,
        tensor: 1,
        data: 1,
        spreads_experts: false,
        max_sequences: 2,
        max_tokens: 100,
        chunk,
        kv_tokens: None,
        first_rank: 0,
        first_dp: 0,
        costs: costs("llama3_70b", 2, 1, 1),
        copies: Shares::default(),
        routing: None,
        micro_batches: 1,
    };
    let after = |tokens: u64| {
        let mut order = Order::default();
        order.add_piece(Piece { request: 0, before: 0, tokens });
        order
    };
    // A prompt above the limit is alone; a prompt that does not fit waits.
    assert_eq!(take(&pool(None), &Order::default(), 500), Some(500));
    assert_eq!((take(&pool(None), &after(40), 60), take(&pool(None), &after(41), 60)), (Some(60), None));
    // Chunks fill the step.
    assert_eq!(take(&pool(Some(64)), &after(64), 500), Some(36));
    assert_eq!(take(&pool(Some(64)), &after(100), 500), None);
    // A step has at most this many sequences.
    let mut two = after(1);
    two.add_sequence(7);
    assert_eq!(take(&pool(None), &two, 1), None);
}
