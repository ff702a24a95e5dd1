//! The Locus worker of the comparison with other frameworks, run by `bench/peers/run`.
//!
//! Reads lines `KIND C REPS` and answers each with one line of JSON. G and S are a training minibatch of LU-Gauss and LU-SIVI, N
//! is LU-SIVI without low-rank noise, DG and DS are decisions: a list of REPS times, in milliseconds for training and in
//! microseconds for decisions, as the other workers answer. PG, PS and PN are the products of such a minibatch, each timed alone
//! ([`products`]).
#![allow(clippy::disallowed_methods, reason = "a benchmark reads the clock")]

mod policies;
mod products;

use std::collections::HashMap;
use std::io::{BufRead, Write, stdin, stdout};
use std::time::Instant;

use locus::Shape;
use policies::Subject;
use serde_json::{Value, json};

fn main() {
    if let Err(message) = serve() {
        eprintln!("peer_worker: {message}");
        std::process::exit(1);
    }
}

fn serve() -> Result<(), String> {
    let mut subjects = HashMap::new();
    for line in stdin().lock().lines() {
        let line = line.map_err(|error| format!("cannot read a request: {error}"))?;
        let answer = answer(&line, &mut subjects).ok_or_else(|| {
            format!("found the request `{line}`, expected `KIND C REPS`, such as `DG 54 10`")
        })?;
        let mut output = stdout().lock();
        writeln!(output, "{answer}")
            .and_then(|()| output.flush())
            .map_err(|error| format!("cannot answer: {error}"))?;
    }
    Ok(())
}

fn answer(line: &str, subjects: &mut HashMap<(char, usize), Subject>) -> Option<Value> {
    let words: Vec<&str> = line.split_whitespace().collect();
    let &[kind, n_features, reps] = words.as_slice() else { return None };
    let (n_features, reps) = (n_features.parse().ok()?, reps.parse().ok()?);
    let shape = Shape::new(n_features, n_actions(n_features)?);
    let policy = kind.chars().last().filter(|policy| "GSN".contains(*policy))?;
    let subject = subjects.entry((policy, n_features)).or_insert_with(|| Subject::new(policy, shape));
    match kind.len() {
        1 => Some(json!(subject.training_ms(reps))),
        2 if kind.starts_with('D') => Some(json!(subject.decision_us(reps))),
        2 if kind.starts_with('P') => Some(products::measure(policy, shape, reps)),
        _ => None,
    }
}

/// A of every C that is compared.
fn n_actions(n_features: usize) -> Option<usize> {
    let shapes = [(2, 5), (22, 2), (54, 7), (117, 2), (389, 9)];
    shapes.iter().find(|(features, _)| *features == n_features).map(|(_, actions)| *actions)
}

/// Seconds per call.
fn seconds_a_call(calls: usize, mut call: impl FnMut()) -> f64 {
    let start = Instant::now();
    (0..calls).for_each(|_| call());
    start.elapsed().as_secs_f64() / calls as f64
}
