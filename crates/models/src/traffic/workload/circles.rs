//! Circles of flows that wait for one another.

use std::collections::{HashMap, HashSet};

/// Returns a circle of waiting flows, each before the flow that it waits for; the search begins with the
/// first flow.
pub(super) fn circle(waits_for: &HashMap<usize, Vec<usize>>) -> Option<Vec<usize>> {
    let mut order: Vec<usize> = waits_for.keys().copied().collect();
    order.sort_unstable();
    let mut searched = HashSet::new();
    for start in order {
        let mut path: Vec<(usize, usize)> = Vec::new();
        let mut on_path = HashMap::new();
        if searched.insert(start) {
            on_path.insert(start, 0);
            path.push((start, 0));
        }
        while let Some((at, next)) = path.last_mut() {
            let Some(to) = waits_for.get(at).and_then(|w| w.get(*next)).copied() else {
                on_path.remove(at);
                path.pop();
                continue;
            };
            *next += 1;
            if let Some(from) = on_path.get(&to) {
                return Some(path[*from..].iter().map(|p| p.0).collect());
            }
            if searched.insert(to) {
                on_path.insert(to, path.len());
                path.push((to, 0));
            }
        }
    }
    None
}
