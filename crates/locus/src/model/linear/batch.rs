//! Batched decisions of linear posteriors, with exactly the numbers of single decisions.
//!
//! The slow part of a decision is an action's leverage: a pass over its factor in which every division waits for the one before. Several
//! requests can share that pass. So all requests advance together: each names the action whose leverage it needs next, and requests
//! that name the same action are served in one pass.

use super::heads::{LinearHeads, first_highest, order_by_ceiling};
use crate::agent::{Breakdown, Scratch, check_reward};
use crate::math::linear::{LanesWork, in_lanes};
use crate::math::wins::Race;
use crate::{Choice, Request, Rng};

/// Requests that are decided together, and their features.
#[derive(Clone, Copy)]
pub(crate) struct Rows<'a> {
    pub(crate) requests: &'a [Request<'a>],
    /// [n, d]
    pub(crate) features: &'a [f64],
}

/// Buffers for a batch.
#[derive(Debug, Default)]
pub(crate) struct BatchWork {
    /// [n, A] each: what every action deviates by but for its leverage, its mean, and what it could reach at best.
    deviations: Vec<f64>,
    means: Vec<f64>,
    ceilings: Vec<f64>,
    best: Vec<(usize, f64)>,
    races: Vec<Race>,
    orders: Vec<Order>,
    /// Requests that are not decided yet.
    waiting: Vec<usize>,
    /// The requests that wait for each action's leverage.
    by_action: Vec<Vec<usize>>,
    lanes: LanesWork,
    leverages: Vec<f64>,
}

/// The order in which a request considers actions, and its position.
#[derive(Debug, Default)]
struct Order {
    actions: Vec<u32>,
    next: usize,
}

/// A search that asks for leverages until it is decided.
trait Seek {
    /// The action whose leverage a request needs next; `None` once it needs no more.
    fn next(&mut self, row: usize) -> Option<usize>;

    /// Takes that leverage.
    fn take(&mut self, row: usize, action: usize, leverage: f64) -> Result<(), Breakdown>;
}

impl LinearHeads {
    /// Calls `decide` with the features of many requests, which `fill` makes of their contexts, and with room for the batch.
    pub(crate) fn with_rows<T>(
        &self,
        requests: &[Request<'_>],
        scratch: &mut Scratch,
        fill: impl Fn(&[f32], &mut [f64]),
        decide: impl FnOnce(Rows<'_>, &mut BatchWork) -> T,
    ) -> T {
        scratch.with_features(self.dim() * requests.len(), |features, scratch| {
            for (request, features) in requests.iter().zip(features.chunks_exact_mut(self.dim())) {
                fill(request.context, features);
            }
            decide(Rows { requests, features }, scratch.work())
        })
    }

    /// The mean rewards [n, A] of all actions for rows of features [n, d].
    pub(crate) fn predict_many(&self, features: &[f64], lanes: &mut LanesWork, means: &mut [f64]) {
        let n_actions = self.n_actions();
        in_lanes(features, self.dim(), lanes, |first, lanes| {
            for action in 0..n_actions {
                let predicted = self.posterior(action).predict_many(lanes);
                for (means, predicted) in means[first * n_actions..].chunks_mut(n_actions).zip(predicted) {
                    means[action] = predicted;
                }
            }
        });
    }

    /// Fills in the mean rewards of a batch.
    pub(crate) fn predict_rows<'a>(&'a self, rows: Rows<'a>) -> impl FnOnce(&mut LanesWork, &mut [f64]) + 'a {
        move |lanes, means| self.predict_many(rows.features, lanes, means)
    }

    /// [`LinearHeads::find_best`] for many requests, each with its own random numbers; `predict` fills in the means [n, A]. Fails with the
    /// index of a request. **Samples** if `deviate` does.
    pub(crate) fn find_best_many(
        &self,
        rows: Rows<'_>,
        work: &mut BatchWork,
        rngs: &mut [Rng],
        choices: &mut [Choice],
        predict: impl FnOnce(&mut LanesWork, &mut [f64]),
        deviate: impl Fn(&mut Rng, &mut [f64]) -> Result<(), Breakdown>,
    ) -> Result<(), (usize, Breakdown)> {
        let reach = |deviation: f64, widest: f64| deviation.max(0.0) * widest;
        self.begin(rows, work, rngs, predict, deviate, reach)?;
        let BatchWork { deviations, means, ceilings, best, waiting, by_action, lanes, leverages, .. } = work;
        best.clear();
        best.resize(rows.requests.len(), (usize::MAX, f64::NEG_INFINITY));
        let n_actions = self.n_actions();
        let mut seek = SeekBest { n_actions, deviations, means, ceilings, best };
        self.serve(rows, &mut seek, (waiting, by_action, lanes, leverages))?;
        choices.iter_mut().zip(&*seek.best).for_each(|(choice, (action, _))| *choice = Choice::new(*action));
        Ok(())
    }

    /// [`LinearHeads::find_wins`] for many requests, each with its own random numbers; `predict` fills in the means [n, A]. `probabilities` [n, A].
    /// Fails with the index of a request. **Samples** if `spread` does.
    pub(crate) fn find_wins_many(
        &self,
        rows: Rows<'_>,
        work: &mut BatchWork,
        rngs: &mut [Rng],
        probabilities: &mut [f64],
        predict: impl FnOnce(&mut LanesWork, &mut [f64]),
        spread: impl Fn(&mut Rng, &mut [f64]) -> Result<(), Breakdown>,
    ) -> Result<(), (usize, Breakdown)> {
        let reach = |spread: f64, widest: f64| Race::reach(spread * widest);
        self.begin(rows, work, rngs, predict, spread, reach)?;
        let BatchWork {
            deviations,
            means,
            ceilings,
            races,
            orders,
            waiting,
            by_action,
            lanes,
            leverages,
            ..
        } = work;
        races.resize_with(rows.requests.len().max(races.len()), Race::default);
        races.iter_mut().for_each(Race::clear);
        let n_actions = self.n_actions();
        orders.resize_with(rows.requests.len().max(orders.len()), Order::default);
        for (order, ceilings) in orders.iter_mut().zip(ceilings.chunks_exact(n_actions)) {
            order_by_ceiling(ceilings, &mut order.actions);
            order.next = 0;
        }
        let mut seek = SeekWins { n_actions, spreads: deviations, means, ceilings, races, orders };
        self.serve(rows, &mut seek, (waiting, by_action, lanes, leverages))?;
        for (race, probabilities) in seek.races.iter_mut().zip(probabilities.chunks_exact_mut(n_actions)) {
            race.finish(probabilities);
        }
        Ok(())
    }

    /// Computes deviations, means and ceilings of all requests.
    fn begin(
        &self,
        rows: Rows<'_>,
        work: &mut BatchWork,
        rngs: &mut [Rng],
        predict: impl FnOnce(&mut LanesWork, &mut [f64]),
        deviate: impl Fn(&mut Rng, &mut [f64]) -> Result<(), Breakdown>,
        reach: impl Fn(f64, f64) -> f64,
    ) -> Result<(), (usize, Breakdown)> {
        let (n_actions, n) = (self.n_actions(), rows.requests.len());
        let BatchWork { deviations, means, ceilings, lanes, .. } = work;
        [&mut *deviations, means, ceilings].into_iter().for_each(|room| room.resize(n * n_actions, 0.0));
        predict(lanes, means);
        for (row, request) in rows.requests.iter().enumerate() {
            let first = row * n_actions;
            let deviations = &mut deviations[first..][..n_actions];
            deviate(&mut rngs[row], deviations).map_err(|breakdown| (row, breakdown))?;
            let widest = self.posterior(0).leverage_bound(rows.row(row, self.dim())).sqrt();
            for (action, deviation) in deviations.iter().enumerate() {
                let place = first + action;
                if !request.allows(action) {
                    ceilings[place] = f64::NEG_INFINITY;
                    continue;
                }
                ceilings[place] = means[place] + reach(*deviation, widest);
                check_reward(action, ceilings[place]).map_err(|breakdown| (row, breakdown))?;
            }
        }
        Ok(())
    }

    /// Gives every request the leverages that it asks for.
    fn serve(
        &self,
        rows: Rows<'_>,
        seek: &mut impl Seek,
        (waiting, by_action, work, leverages): (
            &mut Vec<usize>,
            &mut Vec<Vec<usize>>,
            &mut LanesWork,
            &mut Vec<f64>,
        ),
    ) -> Result<(), (usize, Breakdown)> {
        waiting.clear();
        waiting.extend(0..rows.requests.len());
        by_action.resize_with(self.n_actions().max(by_action.len()), Vec::new);
        // Lists may be left over from a batch that failed.
        by_action.iter_mut().for_each(Vec::clear);
        let mut asked = Vec::new();
        while !waiting.is_empty() {
            waiting.retain(|&row| match seek.next(row) {
                Some(action) => {
                    if by_action[action].is_empty() {
                        asked.push(action);
                    }
                    by_action[action].push(row);
                    true
                }
                None => false,
            });
            for action in asked.drain(..) {
                let asking = &mut by_action[action];
                self.posterior(action).leverages(rows.features, asking, work, leverages);
                for (&row, &leverage) in asking.iter().zip(&*leverages) {
                    seek.take(row, action, leverage).map_err(|breakdown| (row, breakdown))?;
                }
                asking.clear();
            }
        }
        Ok(())
    }
}

impl Rows<'_> {
    /// The features of a request.
    pub(crate) fn row(&self, row: usize, dim: usize) -> &[f64] {
        &self.features[row * dim..][..dim]
    }
}

/// The highest value of every request.
struct SeekBest<'a> {
    n_actions: usize,
    deviations: &'a [f64],
    means: &'a [f64],
    ceilings: &'a mut [f64],
    best: &'a mut [(usize, f64)],
}

impl Seek for SeekBest<'_> {
    fn next(&mut self, row: usize) -> Option<usize> {
        let ceilings = &self.ceilings[row * self.n_actions..][..self.n_actions];
        let next = first_highest(ceilings);
        (ceilings[next] != f64::NEG_INFINITY && ceilings[next] >= self.best[row].1).then_some(next)
    }

    fn take(&mut self, row: usize, action: usize, leverage: f64) -> Result<(), Breakdown> {
        let place = row * self.n_actions + action;
        let reward = self.means[place] + self.deviations[place] * leverage.sqrt();
        check_reward(action, reward)?;
        let best = &mut self.best[row];
        if reward > best.1 || (reward == best.1 && action < best.0) {
            *best = (action, reward);
        }
        self.ceilings[place] = f64::NEG_INFINITY;
        Ok(())
    }
}

/// The contenders of every request.
struct SeekWins<'a> {
    n_actions: usize,
    spreads: &'a [f64],
    means: &'a [f64],
    ceilings: &'a [f64],
    races: &'a mut [Race],
    orders: &'a mut [Order],
}

impl Seek for SeekWins<'_> {
    fn next(&mut self, row: usize) -> Option<usize> {
        let Order { actions, next } = &mut self.orders[row];
        let action = *actions.get(*next)? as usize;
        *next += 1;
        (self.ceilings[row * self.n_actions + action] >= self.races[row].start()).then_some(action)
    }

    fn take(&mut self, row: usize, action: usize, leverage: f64) -> Result<(), Breakdown> {
        let place = row * self.n_actions + action;
        let std = self.spreads[place] * leverage.sqrt();
        check_reward(action, std)?;
        self.races[row].enter(action, self.means[place], std);
        Ok(())
    }
}
