//! Recommendations of a shop: masks for articles out of stock, logged propensities, batched requests, batched rewards, a warm start.
//!
//! Run with `cargo run --release -p locus-bandits --example production`.

use std::error::Error;

use locus::{Outcome, PolicySpec, Propensity, Request, Seed, Shape};

const SHAPE: Shape = Shape::new(3, 4);

/// A logged decision: enough to learn from it, and to evaluate other policies on it later.
struct Decided {
    round: u64,
    visitor: Vec<f32>,
    article: usize,
    propensity: f64,
}

fn main() -> Result<(), Box<dyn Error>> {
    // A tenth of all decisions is spread evenly over the articles in stock, so that each of them is tried for every visitor.
    let spec: PolicySpec = "lin-full-post[floor=0.1]".parse()?;
    let mut policy = spec.build(SHAPE, Seed::new(7))?;

    // Last month's log of another rule. A row that stands for three equal visits has the weight 3.
    let visitors: Vec<Vec<f32>> = (0..500).map(visitor).collect();
    let log: Vec<Outcome<'_>> = visitors
        .iter()
        .zip(0..)
        .map(|(visitor, round)| {
            let article = round as usize % SHAPE.n_actions;
            Outcome::new(round, visitor, article, reward(visitor, article)).with_weight(3.0)
        })
        .collect();
    policy.learn_many(&log)?;

    // Rounds continue after those of the log. The log's observations count, so there are no initial pulls.
    let first = policy.next_round();
    let in_stock = [true, true, false, true];
    let (mut earned, mut inverse_propensities, mut n) = (0.0, 0.0, 0.0);
    for batch in 0..200 {
        let visitors: Vec<Vec<f32>> = (0..64).map(|place| visitor(1000 + batch * 64 + place)).collect();
        let requests: Vec<Request<'_>> = visitors
            .iter()
            .zip(first + batch * 64..)
            .map(|(visitor, round)| Request::new(round, visitor).allowing(&in_stock).with_propensity())
            .collect();
        let decided: Vec<Decided> = policy
            .choose_many(&requests)?
            .into_iter()
            .zip(&requests)
            .map(|(choice, request)| {
                let Propensity::Exact(propensity) = choice.propensity else {
                    unreachable!("the propensity was requested")
                };
                let (round, visitor) = (request.round, request.context.to_vec());
                Decided { round, visitor, article: choice.action, propensity }
            })
            .collect();

        // The rewards arrive later.
        let outcome = |decided: &Decided| reward(&decided.visitor, decided.article);
        let outcomes: Vec<Outcome<'_>> = decided
            .iter()
            .map(|decided| Outcome::new(decided.round, &decided.visitor, decided.article, outcome(decided)))
            .collect();
        policy.learn_many(&outcomes)?;
        for decided in &decided {
            earned += outcome(decided);
            // The estimated reward of a uniform choice among the three articles in stock.
            inverse_propensities += outcome(decided) / decided.propensity / 3.0;
            n += 1.0;
        }
    }
    println!("mean reward of a visit: {:.3}", earned / n);
    println!("estimate for a random article, by inverse propensities: {:.3}", inverse_propensities / n);
    Ok(())
}

fn visitor(number: u64) -> Vec<f32> {
    let mut rng = Seed::new(1).stream("visitor", number);
    (0..SHAPE.n_features).map(|_| rng.normal() as f32).collect()
}

/// Each of the first three articles suits visitors with a high value of one feature; the last suits all a little.
fn reward(visitor: &[f32], article: usize) -> f64 {
    visitor.get(article).map_or(0.2, |liking| f64::from(*liking))
}
