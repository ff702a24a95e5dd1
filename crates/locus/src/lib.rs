//! Contextual bandits, built around Thompson sampling via local uncertainty (Wang and Zhou, ICML 2020).
//!
//! A [`Policy`] chooses an action for one context after another and learns from the rewards. It is built from text or from typed
//! settings, for a [`Shape`] and a [`Seed`]:
//!
//! ```
//! use locus::{Outcome, PolicySpec, Request, Seed, Shape};
//!
//! let spec: PolicySpec = "lin-full-post[prior_precision=1]".parse()?;
//! let mut policy = spec.build(Shape::new(2, 3), Seed::new(0))?; // 2 features, 3 actions
//! let context = [0.5, -1.0];
//! let choice = policy.choose(Request::new(0, &context))?;
//! policy.learn(Outcome::new(0, &context, choice.action, 1.0))?;
//! # Ok::<(), locus::Error>(())
//! ```
//!
//! # Which policy
//!
//! | situation | policy |
//! |---|---|
//! | unsure | `locus`: a mixture of a linear expert and an expert on a net's features, weighted by how well they predict |
//! | nearly linear rewards, or little compute | `lin-pool`; `lin-full-post` and `lin-ucb` are the classical ones |
//! | nonlinear rewards, and compute for a net | `lu-gauss`, `lu-sivi` (the paper's), `neural-linear`, `bootstrap` |
//! | a log for off-policy evaluation | any of these with `floor=0.1` and requested propensities ([`Request::with_propensity`]) |
//! | a baseline | `uniform` |
//!
//! [`Registry::policies`] lists all of them with every setting, its range, default and source; so does `locus policies`. A policy's text is
//! `id[@preset][key=value,…]`; [`configs`] has the same settings as structs. `docs/results.md` in the repository compares the policies on
//! the paper's eight problems.
//!
//! # Rounds and delayed rewards
//!
//! The caller counts rounds, one for each decision, and gives the number with every [`Request`] and [`Outcome`]. So rewards may
//! be delayed, reordered, batched or missing. All randomness in a decision follows from the seed and the round: the same request
//! gives the same choice. Store round, context and action of a decision until its reward is known. [`Request`] explains what the
//! round does, and how to continue after a restart.
//!
//! # Masks, propensities, batches, logs
//!
//! [`Request::allowing`] excludes actions. [`Request::with_propensity`] makes a choice report its exact [`Propensity`], whatever
//! the policy; [`Choose::distribution`] gives the probability of every action. The setting `floor` gives every allowed action a
//! minimum probability; with the default `floor=0`, an action may have probability 0, and then a log has no support for
//! evaluating it.
//!
//! [`Choose::choose_many`] decides for many requests. [`Policy::learn_many`] learns from many outcomes and trains at most once.
//! Both are faster than single calls. [`Outcome::with_weight`] makes an outcome count several times. `docs/production.md` in the
//! repository shows all of this, with a warm start from a log; `examples/production.rs` is a complete program.
//!
//! # Actions with features
//!
//! [`Shape::described`] builds a policy for actions that features describe. [`Request::with_candidates`] brings the actions to choose
//! among, any number of them and other ones each time, and [`Outcome::with_action_features`] the features of the one taken:
//!
//! ```
//! use locus::{Outcome, PolicySpec, Request, Seed, Shape};
//!
//! let spec: PolicySpec = "lin-full-post[interactions=all]".parse()?;
//! let mut policy = spec.build(Shape::described(2, 3), Seed::new(0))?; // 2 features of a context, 3 of an action
//! let (context, articles) = ([0.5, -1.0], [[1.0, 0.0, 0.3], [0.0, 1.0, 0.9]]);
//! let choice = policy.choose(Request::new(0, &context).with_candidates(articles.as_flattened()))?;
//! let taken = &articles[choice.action];
//! policy.learn(Outcome::new(0, &context, choice.action, 1.0).with_action_features(taken))?;
//! # Ok::<(), locus::Error>(())
//! ```
//!
//! # Threads
//!
//! [`Policy::snapshot`] returns an `Arc<dyn Choose>`, which decides on any number of threads without locks while the policy
//! learns on its own thread. A snapshot costs well under a microsecond; the next call to learn then copies the part that it
//! changes. [`Choose::choose`] does not allocate once its thread has made a decision of that size.
//!
//! # Saving
//!
//! [`Policy::save`] returns versioned, checksummed bytes, and [`load`] returns a policy that continues exactly where the saved
//! one stopped. This crate does no I/O: the caller stores the bytes.
//!
//! # Errors
//!
//! Bad input returns an [`Error`] and changes nothing: a context of the wrong length, a NaN, an action that does not exist. No
//! policy acts on a number that is not finite. The predicates of [`Error`] distinguish the kinds of failure.
//!
//! # Policies of your own
//!
//! Implement [`Learner`] and [`Decider`], declare settings with [`config!`], and add a [`Definition`] to a [`Registry`]. The
//! policy then has initial pulls, replay, training schedule, snapshots, saving and text form like all others. The benchmark and
//! the command accept the registry: `locus_cli::main(&registry)` of the package `locus-bandits-cli` is the `locus` command with
//! your policy in it. `examples/own_policy.rs` is the shortest example; `examples/outside` in the repository is a package with
//! its own command. The feature `contract` provides the checks that every policy must pass, for your tests.
#![deny(unsafe_code)]

mod agent;
mod decision;
mod error;
#[allow(unreachable_pub, reason = "`pub` marks what each of these private modules offers to the others")]
mod math;
mod model;
mod random;
mod registry;

#[cfg(any(test, feature = "contract"))]
pub use agent::contract;
pub use agent::{
    Breakdown, Choose, Decider, FitReport, JointRows, Learner, Observation, Plan, Policy, Replay, Scratch,
    WeightDraws,
};
pub use decision::{Choice, Outcome, Propensity, Request, Shape};
pub use error::Error;
pub use random::{Rng, Seed};
pub use registry::save::{Decoder, Encoder};
pub use registry::settings::{AgentConfig, Config, Field, Range, Setting};
pub use registry::spec::{PolicySpec, PolicyText};
pub use registry::{Definition, PolicyInfo, Registry, SettingInfo, did_you_mean, load};

/// The settings of every policy as structs, and the types of settings.
///
/// They build policies without text, for example `LuGaussConfig::paper().latent_dim(20).build(shape, seed)`.
pub mod configs {
    pub use crate::model::gp::config::MultitaskGpConfig;
    pub use crate::model::linear::lin_full_post::LinFullPostConfig;
    pub use crate::model::linear::lin_pool::LinPoolConfig;
    pub use crate::model::linear::lin_ucb::LinUcbConfig;
    pub use crate::model::linear::pooled::PooledConfig;
    pub use crate::model::lu::config::{LuGaussConfig, LuSharedConfig, LuSiviConfig};
    pub use crate::model::lu::settings::{KlWeight, LatentInput, StdLink, StdScale};
    pub use crate::model::mixture::LocusConfig;
    pub use crate::model::net::boltzmann::{BoltzmannConfig, Cooling, TemperatureUnit};
    pub use crate::model::net::bootstrap::BootstrapConfig;
    pub use crate::model::net::dropout::DropoutConfig;
    pub use crate::model::net::epsilon_greedy::EpsilonGreedyConfig;
    pub use crate::model::net::gradient_net::PrecisionMatrix;
    pub use crate::model::net::neural_linear::NeuralLinearConfig;
    pub use crate::model::net::neural_ts::NeuralTsConfig;
    pub use crate::model::net::neural_ucb::NeuralUcbConfig;
    pub use crate::model::net::param_noise::ParamNoiseConfig;
    pub use crate::model::net::reward_net::RewardNetConfig;
    pub use crate::model::uniform::UniformConfig;
    pub use crate::model::weights::bbb::config::BbbConfig;
    pub use crate::model::weights::fbnn::config::FbnnConfig;
    pub use crate::model::weights::pi_ts_dgf::config::{Force, PiTsDgfConfig};
    pub use crate::registry::settings::{InitialOrder, ReplayConfig, ScheduleConfig, TrainingMode};
    pub use crate::registry::values::{
        Capacity, HalfLife, Interactions, Layers, LikelihoodScale, Start, Switch,
    };
}

/// Kernels that the benchmarks measure; not part of the stable API.
#[cfg(feature = "internals")]
#[doc(hidden)]
pub mod internals {
    pub use crate::math::{linear, nn};
    pub use crate::model::weights::pi_ts_dgf::flow::{Flow, FlowWork};
}

/// The version, and after a `+` a checksum of the library's source files.
///
/// Builds with different values may compute different numbers. Builds with the same value compute the same numbers on the same
/// kind of processor, with the same compiler and dependencies: the checksum covers neither of these. It does cover comments, so a
/// new value does not imply new numbers.
pub const BUILD: &str = concat!(env!("CARGO_PKG_VERSION"), "+", env!("LOCUS_SOURCES"));

/// The example in README.md, compiled and run.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
