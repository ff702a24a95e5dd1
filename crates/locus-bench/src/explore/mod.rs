//! Posterior samples of mean rewards, and how they change as policies learn.
//!
//! The exploratory analysis of the paper (its Section 4.1, Figures 1 and 2), for any problem and any policies. All policies play
//! one trial, the benchmark's trial of that seed and number. Every few steps, mean rewards are sampled from each posterior: many
//! samples for one followed context, and one for each context of its kind, that is, with the same best action.
//!
//! ```text
//! Sequence ──► Kind, FirstMistakes (which context?) ──► run_trial with a Watched policy ──► Seen
//!                                                                 Seen ──► figures, CSV, summary, explore.json
//! ```
//!
//! By default, if the problem has contexts with deceptive rewards ([`Problem::deceptive_best_action`]; on Mushroom the poisonous
//! ones), the followed context is one that all policies misjudge at first. It is taken from the first look within the first tenth
//! of the trial at which, for at least one context of that kind, every policy expects more reward of another action than of the
//! best one; of several such contexts, the one with the largest minimum difference over the policies. On other problems it is the
//! context of round 0.
//!
//! OUT/explore then holds `1-single` and `2-many` as SVG, `summary.txt`, `explore.json` (what was looked at), and two tables:
//!
//! ```text
//! statistics.csv   figure,policy,action,step,draws,mean,sd,q05,q50,q95,chosen,modes,mode_places,mode_shares,humps
//! histograms.csv   figure,policy,action,step,low,high,draws    (cells without draws are left out; the outermost are open)
//! ```

mod draws;
mod figures;
mod modes;
mod record;
mod subject;
mod summary;
mod watched;

use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};
use std::thread;

use locus::{Choose, Policy, PolicySpec, Registry, Seed};

use crate::Error;
use crate::error::ErrorKind;
use crate::experiment::{Experiment, Halt, Part, Plan, Progress, Standing, Watch, without_panic};
use crate::problem::{Loaded, Problem, Sequence};
use crate::record::{Folder, Measured, TrialRow, VERSION};
use crate::report::EXPLORE_FOLDER;
use crate::trial::{Stop, TrialId, run_trial, sequence_seed};

use draws::{Ending, Look, Seen, Spread};
use subject::{FirstMistakes, Kind, best_action};
use watched::{Purpose, Watched};

/// The settings of an exploration.
#[derive(Clone)]
pub struct Exploration {
    /// The command line, for the record.
    pub command: Vec<String>,
    /// The problem.
    pub problem: Loaded,
    /// The registry of the policies.
    pub registry: Registry,
    /// The policies, which must have reward models. At least one, no duplicates.
    pub policies: Vec<PolicySpec>,
    /// The random seed.
    pub seed: Seed,
    /// The number of the trial, from 0.
    pub trial: usize,
    /// T, its steps. Must be at least 1.
    pub steps: usize,
    /// Steps between looks. Must be at least 1.
    pub every: usize,
    /// S, posterior samples for the followed context at each look. Must be at least 1.
    pub draws: usize,
    /// The round whose context is followed; `None` for the default context.
    pub context: Option<usize>,
    /// How many threads play trials. Must be at least 1.
    pub jobs: usize,
    /// The folder in which `explore/` is written.
    pub out: PathBuf,
}

/// The result of an exploration.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Explored {
    /// The folder of the files.
    pub folder: PathBuf,
    /// The summary as text.
    pub summary: String,
}

/// The part of the trial that counts as its beginning.
const EARLY_PART: usize = 10;
/// At the end, this many contexts are sampled individually, this many times each.
const WITHIN_CONTEXTS: usize = 200;
const WITHIN_DRAWS: usize = 400;
/// Contexts that are drawn for in one call, so that intermediate numbers stay few.
const DRAWS_AT_A_TIME: usize = 4096;
/// The most drawn rewards of one exploration: they are kept in memory, where this many take 400 megabytes.
const MAX_NUMBERS: usize = 50_000_000;
/// More actions than this would make panels too small.
const MAX_SHOWN_ACTIONS: usize = 4;

/// An action that figures and tables show.
struct Shown {
    index: usize,
    name: String,
}

/// Everything that was found.
struct Findings<'a> {
    exploration: &'a Exploration,
    problem: &'a dyn Problem,
    kind: Kind<'a>,
    first: FirstMistakes,
    /// The round of the followed context.
    followed: usize,
    seen: Vec<Seen>,
    n_actions: usize,
    actions: Vec<Shown>,
}

impl Findings<'_> {
    /// One line that identifies the exploration.
    fn identity(&self) -> String {
        let Exploration { trial, seed, steps, every, .. } = self.exploration;
        format!(
            "{}, trial {trial} of seed {}, {steps} steps, looked at every {every}; Locus {VERSION}.",
            self.problem.name(),
            seed.number()
        )
    }
}

impl Exploration {
    /// Plays the trial with every policy, samples from the posteriors, and writes the results.
    ///
    /// **Blocks** until it is complete. Once `stop` is set it fails with an error for which [`Error::is_interrupted`] holds, and
    /// writes nothing. Overwrites the same exploration; a different one in the folder is an error.
    pub fn run(&self, progress: &dyn Progress, stop: &AtomicBool) -> Result<Explored, Error> {
        self.check()?;
        let asked = record::ExploreFile::asked(self)?;
        asked.check_folder(&self.out, &self.registry)?;
        let problem = &*self.problem.problem;
        let sequence = problem.sequence(self.steps, sequence_seed(self.seed, problem.name(), self.trial))?;
        let (kind, first, followed) = self.subject(&sequence, stop)?;

        let folder = self.out.join(EXPLORE_FOLDER);
        let _lock = Folder::lock(&folder)?;
        // Another exploration may have ended there since it was looked at before the first steps.
        asked.check_folder(&self.out, &self.registry)?;
        progress.planned(&self.plan());
        let seen = self.each_policy(stop, |spec, id, halt| {
            progress.started(id);
            let seen = self.watch(spec, &sequence, &kind, followed, &mut Watch::new(progress, id), halt)?;
            progress.finished(&TrialRow {
                id: id.clone(),
                seed: self.seed.number(),
                steps: self.steps,
                outcome: Ok(Measured::from(&seen.result)),
                version: spec.version(),
            });
            Ok(seen)
        })?;
        let n_actions = problem.shape().n_actions;
        let actions = shown_actions(problem, kind.best_action, &seen);
        let findings =
            Findings { exploration: self, problem, kind, first, followed, seen, n_actions, actions };
        let summary = record::write(&folder, asked, &findings, &sequence)?;
        Ok(Explored { folder, summary })
    }

    /// One trial of every policy.
    fn plan(&self) -> Plan {
        let names = self.policies.iter().map(PolicySpec::to_string).collect();
        let problem = &*self.problem.problem;
        let problems = vec![(problem.name().to_owned(), problem.shape().n_features)];
        Plan {
            missing: self.policies.iter().map(|spec| self.trial_id(spec)).collect(),
            done: 0,
            retried: 0,
            standing: Standing::new(names, problems, self.steps, self.jobs, |_, _| {
                std::iter::once(0..1).collect()
            }),
            warnings: Vec::new(),
        }
    }

    /// The same as an experiment, which knows what makes sense and how to describe it.
    fn experiment(&self) -> Experiment {
        Experiment {
            suite: EXPLORE_FOLDER.to_owned(),
            command: self.command.clone(),
            registry: self.registry.clone(),
            problems: vec![self.problem.clone()],
            policies: self.policies.clone(),
            trials: 1,
            first_trial: 0,
            steps: self.steps,
            seed: self.seed,
            propensities: false,
            jobs: self.jobs,
            part: Part::All,
            out: self.out.clone(),
        }
    }

    /// Fails if the exploration is invalid. Plays and writes nothing; [`Exploration::run`] calls it too.
    pub fn check(&self) -> Result<(), Error> {
        self.experiment().check()?;
        let invalid = |problem: String| Err(ErrorKind::InvalidExperiment { problem }.into());
        for (what, number) in [("every", self.every), ("draws", self.draws)] {
            if number == 0 {
                return invalid(format!("`{what}` is 0, expected at least 1"));
            }
        }
        if self.policies.is_empty() {
            return invalid("there is no policy to explore; name one with --policies".to_owned());
        }
        let problem = &self.problem.problem;
        if problem.shape().n_action_features > 0 {
            return invalid(format!(
                "the actions of `{}` have features and change every round, so no action can be followed; name a problem with \
                 numbered actions",
                problem.name()
            ));
        }
        if let Some(context) = self.context.filter(|context| *context >= self.steps) {
            return invalid(format!(
                "there is no context {context}: a context is named by its round in the trial, from 0 to {}",
                self.steps - 1
            ));
        }
        for (place, spec) in self.policies.iter().enumerate() {
            if self.policies[..place].contains(spec) {
                return invalid(format!("the policy `{spec}` is named twice"));
            }
            // Whether it has a reward model.
            let failed = |cause| Error::from(ErrorKind::PolicyFailed { round: 0, cause });
            match self.build(spec).map_err(failed)?.sample_rewards(0, &[]) {
                Err(cause) if cause.is_no_rewards() => {
                    return invalid(format!("{cause}; remove it from --policies"));
                }
                tried => tried.map_err(failed)?,
            };
        }
        let n_looks = self.steps / self.every + 2;
        let numbers = (self.draws.saturating_add(self.steps))
            .saturating_mul(n_looks)
            .saturating_mul(self.problem.problem.shape().n_actions)
            .saturating_mul(self.policies.len());
        if numbers > MAX_NUMBERS {
            return invalid(format!(
                "up to {numbers} rewards would be sampled and stored, expected at most {MAX_NUMBERS}; sample less often \
                 (--every), or ask for fewer --draws or --policies"
            ));
        }
        Ok(())
    }

    fn trial_id(&self, spec: &PolicySpec) -> TrialId {
        let problem = self.problem.problem.name().to_owned();
        TrialId { problem, policy: spec.to_string(), trial: self.trial }
    }

    /// The policy of the benchmark's trial.
    fn build(&self, spec: &PolicySpec) -> Result<Box<dyn Policy>, locus::Error> {
        spec.build(self.problem.problem.shape(), self.trial_id(spec).policy_seed(self.seed))
    }

    /// Which contexts are looked at, and what all policies misjudge of them at first.
    fn subject<'a>(
        &self,
        sequence: &'a Sequence,
        stop: &AtomicBool,
    ) -> Result<(Kind<'a>, FirstMistakes, usize), Error> {
        let problem = &*self.problem.problem;
        let asked = match (self.context, problem.deceptive_best_action()) {
            (Some(context), _) => Some(context),
            (None, Some(_)) => None,
            (None, None) => Some(0),
        };
        let best = match asked {
            Some(round) => best_action(&sequence.round(round)),
            None => problem.deceptive_best_action().unwrap_or(0),
        };
        let kind = Kind::new(sequence, best);
        let early = (self.steps / EARLY_PART).max(self.every).min(self.steps);
        let beginning = sequence.first(early);
        let margins = self.each_policy(stop, |spec, _, halt| {
            let mut margins = Vec::new();
            let look = |step: usize, decider: &dyn Choose| -> Result<(), locus::Error> {
                if step > 0 {
                    margins.push((step, kind.margins(decider, step)?));
                }
                Ok(())
            };
            self.play(spec, &beginning, &mut (), halt, Box::new(look))?;
            Ok(margins)
        })?;
        let first = FirstMistakes::find(&margins);
        let followed = asked.or(first.clearest.map(|clearest| kind.rounds[clearest]));
        let followed = followed.ok_or_else(|| ErrorKind::NothingMisjudged {
            best: problem.action_name(best),
            early,
            last_round: self.steps - 1,
        })?;
        Ok((kind, first, followed))
    }

    /// Plays the rounds of `sequence` with the policy, looking into it.
    fn play(
        &self,
        spec: &PolicySpec,
        sequence: &Sequence,
        observer: &mut dyn crate::observer::Observer,
        halt: &dyn Stop,
        look: Box<watched::Look<'_>>,
    ) -> Result<crate::trial::TrialResult, Error> {
        let policy =
            self.build(spec).and_then(|policy| Watched::new(policy, self.every, sequence.len(), look));
        let mut policy = policy.map_err(|cause| ErrorKind::PolicyFailed { round: 0, cause })?;
        run_trial(sequence, &mut policy, observer, halt)
    }

    /// Plays the whole trial with the policy, and keeps what it expects of the contexts.
    fn watch(
        &self,
        spec: &PolicySpec,
        sequence: &Sequence,
        kind: &Kind<'_>,
        followed: usize,
        observer: &mut Watch<'_>,
        halt: &dyn Stop,
    ) -> Result<Seen, Error> {
        let followed = sequence.round(followed).context;
        let contexts: Vec<&[f32]> =
            std::iter::repeat_n(followed, self.draws).chain(kind.contexts.iter().copied()).collect();
        let mut looks = Vec::new();
        let mut ending = Ending::default();
        let look = |step: usize, decider: &dyn Choose| -> Result<(), locus::Error> {
            let mut rewards = Vec::with_capacity(contexts.len() * decider.shape().n_actions);
            for (call, contexts) in contexts.chunks(DRAWS_AT_A_TIME).enumerate() {
                rewards.extend(decider.sample_rewards(Purpose::Show.round(step, call), contexts)?);
            }
            looks.push(Look { step, rewards });
            if step == sequence.len() {
                ending =
                    Ending { margins: kind.margins(decider, step)?, within: within(decider, step, kind)? };
            }
            Ok(())
        };
        let result = self.play(spec, sequence, observer, halt, Box::new(look))?;
        let n_actions = sequence.shape().n_actions;
        Ok(Seen { policy: spec.to_string(), n_draws: self.draws, n_actions, looks, ending, result })
    }

    /// Calls `work` for every policy, on several threads; the results come in the order of the policies. The first
    /// failure ends the others.
    fn each_policy<T: Send>(
        &self,
        stop: &AtomicBool,
        work: impl Fn(&PolicySpec, &TrialId, &dyn Stop) -> Result<T, Error> + Sync,
    ) -> Result<Vec<T>, Error> {
        let halt = Halt { asked: stop, broken: AtomicBool::new(false) };
        let next = AtomicUsize::new(0);
        let ids: Vec<TrialId> = self.policies.iter().map(|spec| self.trial_id(spec)).collect();
        let results: Vec<Mutex<Option<Result<T, Error>>>> = ids.iter().map(|_| Mutex::new(None)).collect();
        let work_on_all = || {
            loop {
                let place = next.fetch_add(1, Ordering::Relaxed);
                let Some(spec) = self.policies.get(place) else { return };
                let result = without_panic(|| work(spec, &ids[place], &halt));
                if result.is_err() {
                    halt.broken.store(true, Ordering::Relaxed);
                }
                *results[place].lock().unwrap_or_else(PoisonError::into_inner) = Some(result);
            }
        };
        thread::scope(|scope| {
            for _ in 0..self.jobs.min(ids.len()) {
                scope.spawn(work_on_all);
            }
        });
        let mut done = Vec::new();
        let mut is_interrupted = false;
        for (id, result) in ids.into_iter().zip(results) {
            match result.into_inner().unwrap_or_else(PoisonError::into_inner) {
                Some(Ok(result)) => done.push(result),
                None => is_interrupted = true,
                Some(Err(error)) if error.is_interrupted() => is_interrupted = true,
                Some(Err(cause)) => return Err(ErrorKind::TrialFailed { id, cause }.into()),
            }
        }
        if is_interrupted { Err(ErrorKind::Interrupted.into()) } else { Ok(done) }
    }
}

/// Many draws for some contexts of the kind, one after another: [W, A].
fn within(decider: &dyn Choose, step: usize, kind: &Kind<'_>) -> Result<Vec<Spread>, locus::Error> {
    let n_actions = decider.shape().n_actions;
    let n_contexts = kind.contexts.len();
    let n_within = n_contexts.min(WITHIN_CONTEXTS);
    let mut spreads = Vec::with_capacity(n_within * n_actions);
    for index in 0..n_within {
        // Evenly spread over the trial.
        let context = kind.contexts[index * n_contexts / n_within];
        let rewards = decider.sample_rewards(Purpose::Within.round(step, index), &[context; WITHIN_DRAWS])?;
        for action in 0..n_actions {
            let draws: Vec<f64> = rewards.iter().skip(action).step_by(n_actions).copied().collect();
            spreads.push(Spread::of(&draws));
        }
    }
    Ok(spreads)
}

/// All actions where they are few, else the best one and those that the policies chose most often, in their order.
fn shown_actions(problem: &dyn Problem, best_action: usize, seen: &[Seen]) -> Vec<Shown> {
    let n_actions = problem.shape().n_actions;
    let mut counts = vec![0_usize; n_actions];
    for action in seen.iter().flat_map(|seen| &seen.result.actions) {
        counts[*action as usize] += 1;
    }
    let mut order: Vec<usize> = (0..n_actions).collect();
    // The sort is stable, so of equals the first comes first.
    order.sort_by_key(|&action| (action != best_action, std::cmp::Reverse(counts[action])));
    order.truncate(MAX_SHOWN_ACTIONS);
    order.sort_unstable();
    order.into_iter().map(|index| Shown { index, name: problem.action_name(index) }).collect()
}

#[cfg(test)]
mod tests;
