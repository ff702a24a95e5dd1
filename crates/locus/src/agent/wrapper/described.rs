//! Decisions among candidates that features describe.
//!
//! There are no initial pulls: the candidates of one round may never come again.

use super::{Frame, in_round};
use crate::agent::learner::{Decider, pick};
use crate::agent::{JointRows, Scratch, WeightDraws, check_length, check_reward};
use crate::error::Kind;
use crate::{Choice, Error, Outcome, Request, Rng};

/// Calls `body` with outcomes whose contexts are the rows `[x, f_a]`, and whose action is 0. `room` is reused.
pub(super) fn with_joint<T>(
    outcomes: &[Outcome<'_>],
    room: &mut Vec<f32>,
    body: impl FnOnce(&[Outcome<'_>]) -> T,
) -> T {
    room.clear();
    for outcome in outcomes {
        room.extend_from_slice(outcome.context);
        room.extend_from_slice(outcome.action_features.unwrap_or_default());
    }
    let n_joint = room.len() / outcomes.len().max(1);
    fn joint<'a>((outcome, context): (&Outcome<'_>, &'a [f32])) -> Outcome<'a> {
        let Outcome { round, reward, weight, .. } = *outcome;
        Outcome::new(round, context, 0, reward).with_weight(weight)
    }
    match outcomes {
        [] => body(&[]),
        [only] => body(&[joint((only, room))]),
        _ => {
            let joint: Vec<Outcome<'_>> =
                outcomes.iter().zip(room.chunks_exact(n_joint)).map(joint).collect();
            body(&joint)
        }
    }
}

impl Frame {
    fn rows_of<'a>(&self, request: &Request<'a>) -> JointRows<'a> {
        let candidates = request.candidates.unwrap_or_default();
        JointRows::of_candidates(request.context, candidates, self.shape().n_action_features)
    }

    pub(super) fn choose_candidate<D: Decider>(
        &self,
        decider: &D,
        draws: &WeightDraws,
        request: Request<'_>,
    ) -> Result<Choice, Error> {
        request.check(self.shape())?;
        let (n_candidates, mut rng) = (request.n_actions(self.shape()), self.rng(request.round));
        if D::KNOWS_PROPENSITIES || self.is_by_distribution::<D>(&request) {
            return Scratch::with(|scratch| {
                scratch.with_probabilities(n_candidates, |probabilities, scratch| {
                    self.fill_candidates(decider, draws, request, &mut rng, scratch, probabilities)?;
                    Ok(pick(probabilities, rng.uniform()))
                })
            });
        }
        let highest = Scratch::with(|scratch| {
            scratch.with_rewards(n_candidates, |rewards, scratch| {
                decider.draw_joint(self.rows_of(&request), &mut rng, scratch, rewards)?;
                request.highest(rewards)
            })
        });
        highest.map(Choice::new).map_err(|breakdown| in_round(breakdown, request.round))
    }

    /// Computes the probabilities of a checked request.
    fn fill_candidates(
        &self,
        decider: &impl Decider,
        draws: &WeightDraws,
        request: Request<'_>,
        rng: &mut Rng,
        scratch: &mut Scratch,
        probabilities: &mut [f64],
    ) -> Result<(), Error> {
        decider
            .distribution_of_candidates(request, self.rows_of(&request), draws, rng, scratch, probabilities)
            .map_err(|breakdown| in_round(breakdown, request.round))?;
        self.check_distribution(&request, probabilities)?;
        self.mix_floor(&request, probabilities);
        Ok(())
    }

    pub(super) fn distribution_of_candidates(
        &self,
        decider: &impl Decider,
        draws: &WeightDraws,
        request: Request<'_>,
        probabilities: &mut [f64],
    ) -> Result<(), Error> {
        request.check(self.shape())?;
        check_length("probabilities", probabilities.len(), request.n_actions(self.shape()))?;
        let mut rng = self.rng(request.round);
        Scratch::with(|scratch| {
            self.fill_candidates(decider, draws, request, &mut rng, scratch, probabilities)
        })
    }

    pub(super) fn choose_candidates(
        &self,
        decider: &impl Decider,
        draws: &WeightDraws,
        requests: &[Request<'_>],
        choices: &mut [Choice],
    ) -> Result<(), Error> {
        check_length("choices", choices.len(), requests.len())?;
        self.check_all(requests)?;
        for (index, (request, choice)) in requests.iter().zip(choices).enumerate() {
            // A request is a batch of candidates already.
            *choice =
                self.choose_candidate(decider, draws, *request).map_err(|error| error.of_request(index))?;
        }
        Ok(())
    }

    pub(super) fn distributions_of_candidates(
        &self,
        decider: &impl Decider,
        draws: &WeightDraws,
        requests: &[Request<'_>],
        probabilities: &mut [f64],
    ) -> Result<(), Error> {
        self.check_all(requests)?;
        let n_candidates = |request: &Request<'_>| request.n_actions(self.shape());
        check_length("probabilities", probabilities.len(), requests.iter().map(n_candidates).sum())?;
        let mut rest = probabilities;
        for (index, request) in requests.iter().enumerate() {
            let (own, others) = std::mem::take(&mut rest).split_at_mut(n_candidates(request));
            self.distribution_of_candidates(decider, draws, *request, own)
                .map_err(|error| error.of_request(index))?;
            rest = others;
        }
        Ok(())
    }

    pub(super) fn sample_rows<D: Decider>(
        &self,
        decider: &D,
        round: u64,
        rows: &[&[f32]],
    ) -> Result<Vec<f64>, Error> {
        if !D::HAS_REWARDS {
            return Err(Kind::NoRewards { policy: self.name.clone() }.into());
        }
        rows.iter().try_for_each(|row| self.shape().check_row(row))?;
        let mut rewards = vec![0.0; rows.len()];
        if rows.is_empty() {
            return Ok(rewards);
        }
        let mut rng = self.identity.seed.stream("sample", round);
        let (whole, n_joint) = (rows.concat(), rows[0].len());
        Scratch::with(|scratch| {
            let rows = JointRows::whole(&whole, n_joint);
            decider.draw_joint(rows, &mut rng, scratch, &mut rewards)
        })
        .and_then(|()| {
            rewards.iter().enumerate().try_for_each(|(place, &reward)| check_reward(place, reward))
        })
        .map_err(|breakdown| in_round(breakdown, round))?;
        Ok(rewards)
    }
}
