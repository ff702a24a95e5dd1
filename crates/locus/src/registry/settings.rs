//! Settings of policies, each written down once.
//!
//! A policy's settings are one struct, declared with [`config!`](crate::config). The same lines yield the struct, its defaults,
//! setters, parsing from text, range checks, the canonical form, rustdoc and what `locus policies` prints. A table can include
//! another one; its keys stay as they are.

use std::fmt;

/// A struct of settings, declared with [`config!`](crate::config).
pub trait Config: Clone + fmt::Debug + Default + PartialEq + Send + Sync + 'static {
    /// Calls `visit` with every setting and its value, in the order of the table.
    fn for_each(&self, visit: &mut dyn FnMut(&Field, &dyn Setting));

    /// The same, with values that can be changed.
    fn for_each_mut(&mut self, visit: &mut dyn FnMut(&Field, &mut dyn Setting));
}

/// One line of a table of settings.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Field {
    /// Its name in `key=value`.
    pub key: &'static str,
    /// What it means.
    pub doc: &'static str,
    /// Which values it takes.
    pub range: Range,
    /// Where its default comes from.
    pub source: &'static str,
}

impl Field {
    /// The line; [`config!`](crate::config) calls this.
    #[doc(hidden)]
    pub const fn new(key: &'static str, doc: &'static str, range: Range, source: &'static str) -> Self {
        Self { key, doc, range, source }
    }

    /// Type and range in words.
    pub(crate) fn expected(&self, value: &dyn Setting) -> String {
        format!("{} {}", value.kind(), self.range).trim_end().to_owned()
    }
}

/// A type that a setting can have; see [`words!`](crate::words) for those whose values are words.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be the type of a setting",
    note = "use f64, u32, an enum declared with `locus::words!`, or Switch, Layers or Capacity of `locus::configs`"
)]
pub trait Setting {
    /// The type in words: `a whole number`.
    fn kind(&self) -> &'static str;

    /// Takes the value that a text means; false, and nothing changed, if it means none.
    fn parse(&mut self, text: &str) -> bool;

    /// The one text of this value, which [`Setting::parse`] reads back exactly.
    fn format(&self) -> String;

    /// The value as a number, for the range; 0 where there is nothing to check.
    fn magnitude(&self) -> f64 {
        0.0
    }
}

/// Takes a value that was parsed, if there is one.
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
                concat!("one of", $(" ", $word),+)
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

/// The values that a numeric setting takes.
#[derive(Clone, Copy, Debug)]
pub struct Range {
    low: f64,
    high: f64,
    excludes_low: bool,
}

impl Range {
    /// Whatever the type allows.
    pub const ANY: Self = Self { low: f64::NEG_INFINITY, high: f64::INFINITY, excludes_low: false };

    /// `low < value ≤ high`.
    pub const fn above(low: f64, high: f64) -> Self {
        Self { low, high, excludes_low: true }
    }

    /// `low ≤ value ≤ high`.
    pub const fn within(low: f64, high: f64) -> Self {
        Self { low, high, excludes_low: false }
    }

    /// Whether `value` lies within.
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

/// Declares a struct of settings and its table: for each setting its doc, name, type, default, range, and where the default comes
/// from. A line `..name: Type = value;` includes another struct of settings and gives its defaults; such lines come last.
///
/// Every setting needs a doc comment. Its type is `f64`, `u32`, an enum that [`words!`](crate::words) declares, one of the types in
/// [`configs`](crate::configs) (`Switch`, `Layers`, `Capacity`), or another that implements [`Setting`]. Its range is [`Range::ANY`],
/// `Range::within(low, high)` or `Range::above(low, high)`; the macro brings `Range` into scope.
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
                #[doc = concat!("Further settings, those of [`", stringify!($part_type), "`].")]
                pub $part: $part_type,
            )*
        }

        impl Default for $name {
            fn default() -> Self {
                Self { $($field: $default,)* $($part: $part_default,)* }
            }
        }

        #[allow(dead_code, reason = "nobody need change every setting")]
        impl $name {
            $(
                #[doc = concat!("The same with another `", stringify!($field), "`.")]
                #[must_use]
                $visibility fn $field(mut self, value: $type) -> Self {
                    self.$field = value;
                    self
                }
            )*
            $(
                #[doc = concat!("The same with other settings of `", stringify!($part), "`.")]
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
    /// The settings that every policy around a [`Learner`](crate::Learner) has; a table includes them with `..agent`.
    pub struct AgentConfig {
        /// How often every action is tried before the model decides
        initial_pulls: u32 = 2, Range::within(0.0, 1000.0), "benchmark";
        /// In which order actions are tried: one after another, or drawn uniformly among those that still have to be tried
        initial: InitialOrder = InitialOrder::RoundRobin, Range::ANY, "benchmark";
        /// The share of every decision's probability that is spread evenly over the allowed actions; with 0, some actions may never be chosen, and a log cannot be used to evaluate them
        floor: f64 = 0.0, Range::within(0.0, 1.0), "our choice";
    }
}

words! {
    /// In which order actions are tried at the beginning.
    pub enum InitialOrder {
        /// One after another, by the round.
        RoundRobin = "round-robin",
        /// A random one of those that still have to be tried.
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
