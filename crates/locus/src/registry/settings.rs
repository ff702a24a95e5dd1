//! Settings of policies, each written down once.
//!
//! A policy's settings are one struct, declared with [`config!`]. The same lines yield the struct, its
//! defaults, parsing from text, range checks, the canonical form, rustdoc and what `locus policies` prints.

use std::fmt;

/// A struct of settings with a table of its fields.
pub trait Config: Clone + fmt::Debug + Default + PartialEq + Send + Sync + 'static {
    /// One entry for each setting.
    fn fields() -> &'static [Field<Self>];

    /// Fails at the first setting that lies out of its range, with the field at fault.
    fn check(&self) -> Result<(), &'static Field<Self>> {
        Self::fields().iter().find(|field| !(field.is_in_range)(self)).map_or(Ok(()), Err)
    }
}

/// One setting of a config of type `C`.
pub struct Field<C: 'static> {
    /// Its name in `key=value`.
    pub key: &'static str,
    /// What it means.
    pub doc: &'static str,
    /// Where its default comes from.
    pub source: &'static str,
    /// Which values it takes, in words.
    pub expected: fn() -> String,
    /// The value as text, such that [`Field::set`] reads it back exactly.
    pub get: fn(&C) -> String,
    /// Sets the value from text; false if the text is not of its type.
    pub set: fn(&mut C, &str) -> bool,
    /// Whether the value lies in its range.
    pub is_in_range: fn(&C) -> bool,
}

/// A type that a setting can have.
pub(crate) trait Setting: Sized {
    /// The type in words: `a whole number`.
    const TYPE: &'static str;

    /// Reads what [`Setting::format`] writes, and what people write.
    fn parse(text: &str) -> Option<Self>;

    /// The one way in which this value is written.
    fn format(&self) -> String;

    /// The value as a number, for range checks.
    fn magnitude(&self) -> f64;
}

impl Setting for f64 {
    const TYPE: &'static str = "a number";

    fn parse(text: &str) -> Option<Self> {
        text.parse().ok().filter(|value: &f64| value.is_finite())
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
    const TYPE: &'static str = "a whole number";

    fn parse(text: &str) -> Option<Self> {
        text.parse().ok()
    }

    fn format(&self) -> String {
        self.to_string()
    }

    fn magnitude(&self) -> f64 {
        f64::from(*self)
    }
}

/// Declares an enum whose values are words, as a [`Setting`].
macro_rules! words {
    (
        $(#[$meta:meta])*
        $visibility:vis enum $name:ident {
            $($(#[$variant_meta:meta])+ $variant:ident = $word:literal,)+
        }
    ) => {
        $(#[$meta])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        $visibility enum $name {
            $($(#[$variant_meta])+ $variant,)+
        }

        impl $crate::registry::settings::Setting for $name {
            const TYPE: &'static str = concat!("one of", $(" ", $word),+);

            fn parse(text: &str) -> Option<Self> {
                match text {
                    $($word => Some(Self::$variant),)+
                    _ => None,
                }
            }

            fn format(&self) -> String {
                match self {
                    $(Self::$variant => $word.to_owned(),)+
                }
            }

            fn magnitude(&self) -> f64 {
                0.0
            }
        }
    };
}
pub(crate) use words;

/// The values that a numeric setting takes.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Range {
    low: f64,
    high: f64,
    excludes_low: bool,
}

impl Range {
    /// Whatever the type allows.
    pub(crate) const ANY: Self = Self { low: f64::NEG_INFINITY, high: f64::INFINITY, excludes_low: false };

    /// `low < value ≤ high`.
    pub(crate) const fn above(low: f64, high: f64) -> Self {
        Self { low, high, excludes_low: true }
    }

    /// `low ≤ value ≤ high`.
    pub(crate) const fn from(low: f64, high: f64) -> Self {
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

/// Declares a struct of settings and its table: for each field its doc, name, type, default, range, and where
/// the default comes from.
macro_rules! config {
    (
        $(#[$meta:meta])*
        $visibility:vis struct $name:ident {
            $(
                $(#[doc = $doc:literal])+
                $field:ident: $type:ty = $default:expr, $range:expr, $source:literal;
            )*
        }
    ) => {
        $(#[$meta])*
        #[derive(Clone, Debug, PartialEq)]
        $visibility struct $name {
            $(
                $(#[doc = $doc])+
                #[doc = concat!("\n\nDefault `", stringify!($default), "` (", $source, ").")]
                pub $field: $type,
            )*
        }

        impl Default for $name {
            fn default() -> Self {
                Self { $($field: $default,)* }
            }
        }

        impl $crate::registry::settings::Config for $name {
            fn fields() -> &'static [$crate::registry::settings::Field<Self>] {
                #[allow(unused_imports)]
                use $crate::registry::settings::{Field, Range, Setting};
                const {
                    &[$(
                        Field {
                            key: stringify!($field),
                            doc: concat!($($doc),+),
                            source: $source,
                            expected: || format!("{} {}", <$type as Setting>::TYPE, $range).trim_end().to_owned(),
                            get: |config: &$name| config.$field.format(),
                            set: |config: &mut $name, text| match <$type as Setting>::parse(text) {
                                Some(value) => {
                                    config.$field = value;
                                    true
                                }
                                None => false,
                            },
                            is_in_range: |config: &$name| $range.contains(config.$field.magnitude()),
                        },
                    )*]
                }
            }
        }
    };
}
pub(crate) use config;

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn numbers_read_back_exactly(value in prop::num::f64::NORMAL | prop::num::f64::ZERO) {
            prop_assert_eq!(f64::parse(&value.format()), Some(value));
        }
    }

    #[test]
    fn numbers_are_written_as_people_write_them() {
        let written: Vec<String> = [0.25, 1.0, 6.0, 1e-8, 2e-4, 1e10, 0.0].iter().map(f64::format).collect();
        assert_eq!(written, ["0.25", "1", "6", "1e-8", "0.0002", "1e10", "0"]);
        assert_eq!(f64::parse("NaN"), None);
        assert_eq!(f64::parse("inf"), None);
        assert_eq!(u32::parse("-1"), None);
    }

    #[test]
    fn ranges_include_what_they_say() {
        assert!(!Range::above(0.0, 1.0).contains(0.0));
        assert!(Range::above(0.0, 1.0).contains(1.0));
        assert!(Range::from(0.0, 1.0).contains(0.0));
        assert!(!Range::from(0.0, 1.0).contains(f64::NAN));
        assert_eq!(Range::above(0.0, 1e6).to_string(), "above 0, up to 1000000");
    }
}
