//! Settings of policies, each declared once.
//!
//! A policy's settings are one struct, declared with [`config!`](crate::config). One table generates the struct, its defaults,
//! setters, parsing from text, range checks, the canonical form, rustdoc and the output of `locus policies`. A table can include
//! another one; its keys stay the same.

use std::fmt;

use super::values::{Capacity, HalfLife, Start};

/// A struct of settings, declared with [`config!`](crate::config).
pub trait Config: Clone + fmt::Debug + Default + PartialEq + Send + Sync + 'static {
    /// Calls `visit` with every setting and its value, in the order of the table.
    fn for_each(&self, visit: &mut dyn FnMut(&Field, &dyn Setting));

    /// Like [`Config::for_each`], with mutable values.
    fn for_each_mut(&mut self, visit: &mut dyn FnMut(&Field, &mut dyn Setting));
}

/// One setting of a table.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Field {
    /// Its key in `key=value`.
    pub key: &'static str,
    /// What it means.
    pub doc: &'static str,
    /// Its valid values.
    pub range: Range,
    /// Where its default comes from.
    pub source: &'static str,
}

impl Field {
    /// Creates the field; [`config!`](crate::config) calls this.
    #[doc(hidden)]
    pub const fn new(key: &'static str, doc: &'static str, range: Range, source: &'static str) -> Self {
        Self { key, doc, range, source }
    }

    /// Type and range in words.
    pub(crate) fn expected(&self, value: &dyn Setting) -> String {
        format!("{} {}", value.kind(), self.range).trim_end().to_owned()
    }
}

/// The type of a setting; [`words!`](crate::words) declares enums of words.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be the type of a setting",
    note = "use f64, u32, an enum declared with `locus::words!`, or Switch, Layers or Capacity of `locus::configs`"
)]
pub trait Setting {
    /// The type in words: `a whole number`.
    fn kind(&self) -> &'static str;

    /// Sets the value from text; returns false and changes nothing if the text is invalid.
    fn parse(&mut self, text: &str) -> bool;

    /// The canonical text of the value, which [`Setting::parse`] reads back exactly.
    fn format(&self) -> String;

    /// The value as a number, for the range check; 0 for types without a range.
    fn magnitude(&self) -> f64 {
        0.0
    }
}

/// Assigns a parsed value, if there is one.
pub(crate) fn take<T>(place: &mut T, parsed: Option<T>) -> bool {
    parsed.map(|value| *place = value).is_some()
}

impl Setting for f64 {
    fn kind(&self) -> &'static str {
        "a number"
    }

    fn parse(&mut self, text: &str) -> bool {
        take(self, text.parse().ok().filter(|value: &f64| value.is_finite()))
    }

    fn format(&self) -> String {
        // Both forms are the shortest that read back exactly; people write 0.25 but 1e-8.
        if *self == 0.0 || (1e-4..1e7).contains(&self.abs()) {
            format!("{self}")
        } else {
            format!("{self:e}")
        }
    }

    fn magnitude(&self) -> f64 {
        *self
    }
}

impl Setting for u32 {
    fn kind(&self) -> &'static str {
        "a whole number"
    }

    fn parse(&mut self, text: &str) -> bool {
        take(self, text.parse().ok())
    }

    fn format(&self) -> String {
        self.to_string()
    }

    fn magnitude(&self) -> f64 {
        f64::from(*self)
    }
}

/// Declares an enum whose values are words, as a [`Setting`].
///
/// ```
/// locus::words! {
///     /// What to do with ties.
///     pub enum Ties {
///         /// The first wins.
///         First = "first",
///         /// A random one wins.
///         Random = "random",
///     }
/// }
/// ```
#[macro_export]
macro_rules! words {
    (
        $(#[$meta:meta])*
        $visibility:vis enum $name:ident {
            $($(#[$variant_meta:meta])+ $variant:ident = $word:literal,)+
        }
    ) => {
        $(#[$meta])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        #[non_exhaustive]
        $visibility enum $name {
            $($(#[$variant_meta])+ $variant,)+
        }

        impl $crate::Setting for $name {
            fn kind(&self) -> &'static str {
                concat!("one of", $(" `", $word, "`"),+)
            }

            fn parse(&mut self, text: &str) -> bool {
                match text {
                    $($word => *self = Self::$variant,)+
                    _ => return false,
                }
                true
            }

            fn format(&self) -> String {
                match self {
                    $(Self::$variant => $word.to_owned(),)+
                }
            }
        }
    };
}
pub(crate) use words;

/// The range of a numeric setting.
#[derive(Clone, Copy, Debug)]
pub struct Range {
    low: f64,
    high: f64,
    excludes_low: bool,
}

impl Range {
    /// Every value of the type.
    pub const ANY: Self = Self { low: f64::NEG_INFINITY, high: f64::INFINITY, excludes_low: false };

    /// `low < value ≤ high`.
    pub const fn above(low: f64, high: f64) -> Self {
        Self { low, high, excludes_low: true }
    }

    /// `low ≤ value ≤ high`.
    pub const fn within(low: f64, high: f64) -> Self {
        Self { low, high, excludes_low: false }
    }

    /// Whether `value` is in range.
    pub(crate) fn contains(self, value: f64) -> bool {
        value <= self.high && if self.excludes_low { value > self.low } else { value >= self.low }
    }
}

impl fmt::Display for Range {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.low == f64::NEG_INFINITY && self.high == f64::INFINITY {
            return Ok(());
        }
        let (low, high) = (self.low.format(), self.high.format());
        if self.excludes_low {
            write!(f, "above {low}, up to {high}")
        } else {
            write!(f, "from {low} to {high}")
        }
    }
}

/// Declares a struct of settings from a table.
///
/// Each setting has a doc comment, name, type, default, range, and the source of the default. A line `..name: Type = value;`
/// includes another struct of settings with its defaults; such lines come last.
///
/// The doc comment is required. The type is `f64`, `u32`, an enum that [`words!`](crate::words) declares, one of the types in
/// [`configs`](crate::configs) (`Switch`, `Layers`, `Capacity`), or any other that implements [`Setting`]. The range is
/// [`Range::ANY`], `Range::within(low, high)` or `Range::above(low, high)`; the macro brings `Range` into scope.
///
/// ```
/// locus::config! {
///     /// Settings of a policy.
///     pub struct MyConfig {
///         /// Standard deviation of a reward
///         noise_std: f64 = 1.0, Range::above(0.0, 1e6), "our choice";
///         ..agent: locus::AgentConfig = locus::AgentConfig::default();
///     }
/// }
/// let config = MyConfig::default().noise_std(0.5);
/// assert_eq!((config.noise_std, config.agent.initial_pulls), (0.5, 2));
/// ```
#[macro_export]
macro_rules! config {
    (
        $(#[$meta:meta])*
        $visibility:vis struct $name:ident {
            $(
                $(#[doc = $doc:literal])+
                $field:ident: $type:ty = $default:expr, $range:expr, $source:literal;
            )*
            $(..$part:ident: $part_type:ty = $part_default:expr;)*
        }
    ) => {
        $(#[$meta])*
        #[derive(Clone, Debug, PartialEq)]
        #[non_exhaustive]
        $visibility struct $name {
            $(
                $(#[doc = $doc])+
                #[doc = concat!("\n\nDefault `", stringify!($default), "` (", $source, ").")]
                pub $field: $type,
            )*
            $(
                #[doc = concat!("The settings of [`", stringify!($part_type), "`].")]
                pub $part: $part_type,
            )*
        }

        impl Default for $name {
            fn default() -> Self {
                Self { $($field: $default,)* $($part: $part_default,)* }
            }
        }

        #[allow(dead_code, reason = "not every setter is used")]
        impl $name {
            $(
                #[doc = concat!("Sets `", stringify!($field), "`.")]
                #[must_use]
                $visibility fn $field(mut self, value: $type) -> Self {
                    self.$field = value;
                    self
                }
            )*
            $(
                #[doc = concat!("Sets the settings of `", stringify!($part), "`.")]
                #[must_use]
                $visibility fn $part(mut self, settings: $part_type) -> Self {
                    self.$part = settings;
                    self
                }
            )*
        }

        impl $crate::Config for $name {
            #[allow(unused_imports, unused_variables)]
            fn for_each(&self, visit: &mut dyn FnMut(&$crate::Field, &dyn $crate::Setting)) {
                use $crate::{Config, Field, Range};
                $(visit(&Field::new(stringify!($field), concat!($($doc),+), $range, $source), &self.$field);)*
                $(self.$part.for_each(visit);)*
            }

            #[allow(unused_imports, unused_variables)]
            fn for_each_mut(&mut self, visit: &mut dyn FnMut(&$crate::Field, &mut dyn $crate::Setting)) {
                use $crate::{Config, Field, Range};
                $(visit(&Field::new(stringify!($field), concat!($($doc),+), $range, $source), &mut self.$field);)*
                $(self.$part.for_each_mut(visit);)*
            }
        }
    };
}
pub(crate) use config;

config! {
    /// Settings of every policy with a [`Learner`](crate::Learner); a table includes them with `..agent`.
    pub struct AgentConfig {
        /// Initial pulls of every action before the model decides
        initial_pulls: u32 = 2, Range::within(0.0, 1000.0), "benchmark";
        /// Order of the initial pulls: round-robin, or uniformly random among the actions that still need pulls
        initial: InitialOrder = InitialOrder::RoundRobin, Range::ANY, "benchmark";
        /// Exploration floor: the share of the probability that every decision spreads evenly over the allowed actions; with 0,
        /// an action may have probability 0, and a log cannot be used to evaluate it
        floor: f64 = 0.0, Range::within(0.0, 1.0), "our choice";
        /// Half-life of what was learned: after so many further observations, whatever their actions and weights, an observation
        /// counts half; off forgets nothing
        half_life: HalfLife = HalfLife(None), Range::ANY, "our choice";
    }
}

config! {
    /// Settings of every policy that trains; a table includes them with `..schedule`.
    ///
    /// They keep the cost of learning flat: after `stretch_after` observations, training becomes rarer. With a half-life it does
    /// not: what is forgotten must be learned again.
    pub struct ScheduleConfig {
        /// n₀, the number of observations after which training becomes rarer: after n of them, √(n/n₀) times as many lie between
        /// two rounds of training; never keeps training equally frequent
        stretch_after: Start = Start(Some(2000)), Range::ANY, "our choice: the paper's 2000 steps do not change";
        /// Whether `learn` trains when training is due, or only `train` does
        training: TrainingMode = TrainingMode::Auto, Range::ANY, "our choice";
    }
}

config! {
    /// Settings of every policy that trains on a replay; a table includes them with `..replay`.
    pub struct ReplayConfig {
        /// The most observations in a replay whose capacity is all: half are the latest, half a random sample of all earlier
        /// ones, weighted to stand for them
        replay_bound: Capacity = Capacity(Some(16_384)), Range::ANY, "our choice";
        ..schedule: ScheduleConfig = ScheduleConfig::default();
    }
}

/// Settings that changed a policy when they were added, with the values that leave it as it was.
///
/// A record without them was written by an earlier version and keeps its meaning.
pub(super) const ADDED: [(&str, &str); 2] = [("stretch_after", "never"), ("replay_bound", "all")];

words! {
    /// Who calls for training.
    pub enum TrainingMode {
        /// Learning trains when training is due.
        Auto = "auto",
        /// Only [`Policy::train`](crate::Policy::train) trains.
        Manual = "manual",
    }
}

words! {
    /// The order of the initial pulls.
    pub enum InitialOrder {
        /// Round-robin, by the round.
        RoundRobin = "round-robin",
        /// Uniformly random among the actions that still need pulls.
        Uniform = "uniform",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn numbers_read_back_exactly(value in prop::num::f64::NORMAL | prop::num::f64::ZERO) {
            let mut read = 0.5;
            prop_assert!(read.parse(&value.format()));
            prop_assert_eq!(read, value);
        }
    }

    #[test]
    fn numbers_are_written_as_people_write_them() {
        let written: Vec<String> =
            [0.25, 1.0, 6.0, 1e-8, 2e-4, 1e10, 0.0].iter().map(Setting::format).collect();
        assert_eq!(written, ["0.25", "1", "6", "1e-8", "0.0002", "1e10", "0"]);
        let (mut number, mut whole) = (0.5, 3_u32);
        assert!(!number.parse("NaN") && !number.parse("inf") && !whole.parse("-1"));
        assert_eq!((number, whole), (0.5, 3));
    }

    #[test]
    fn ranges_include_what_they_say() {
        assert!(!Range::above(0.0, 1.0).contains(0.0));
        assert!(Range::above(0.0, 1.0).contains(1.0));
        assert!(Range::within(0.0, 1.0).contains(0.0));
        assert!(!Range::within(0.0, 1.0).contains(f64::NAN));
        assert_eq!(Range::above(0.0, 1e6).to_string(), "above 0, up to 1000000");
    }
}
