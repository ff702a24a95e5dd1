//! Types of settings that several policies share.

use crate::registry::settings::{Setting, take, words};

words! {
    /// On or off.
    pub enum Switch {
        /// On.
        On = "on",
        /// Off.
        Off = "off",
    }
}

words! {
    /// Whether the likelihood is that of the minibatch or of all observations.
    pub enum LikelihoodScale {
        /// The observations of the minibatch.
        Minibatch = "minibatch",
        /// All observations; the minibatch is a sample of them.
        All = "all",
    }
}

words! {
    /// What a linear policy regresses on if actions have features: those of the context, x, and of the action, f.
    pub enum Interactions {
        /// [x, f, 1]
        Off = "off",
        /// [x, f, 1] and every product of one number of x and one of f.
        All = "all",
        /// [x, 1] ⊗ f: every product of one number of [x, 1] and one of f, and nothing else.
        Only = "only",
    }
}

/// Layer sizes such as `100x50`, or `none`; ranges bound the number of layers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Layers(pub Vec<usize>);

impl Setting for Layers {
    fn kind(&self) -> &'static str {
        "layer sizes such as 100x50, or none; each up to 10000, number of layers"
    }

    fn parse(&mut self, text: &str) -> bool {
        if text == "none" {
            return take(self, Some(Self(Vec::new())));
        }
        let size = |size: &str| size.parse().ok().filter(|size| (1..=10_000).contains(size));
        take(self, text.split('x').map(size).collect::<Option<Vec<usize>>>().map(Self))
    }

    fn format(&self) -> String {
        if self.0.is_empty() {
            return "none".to_owned();
        }
        self.0.iter().map(ToString::to_string).collect::<Vec<_>>().join("x")
    }

    fn magnitude(&self) -> f64 {
        self.0.len() as f64
    }
}

/// How many of the last observations are kept: a number, or `all`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Capacity(pub Option<usize>);

impl Setting for Capacity {
    fn kind(&self) -> &'static str {
        "a whole number above 0, or all"
    }

    fn parse(&mut self, text: &str) -> bool {
        let parsed = match text {
            "all" => Some(Self(None)),
            number => number.parse().ok().filter(|&number| number > 0).map(|number| Self(Some(number))),
        };
        take(self, parsed)
    }

    fn format(&self) -> String {
        self.0.map_or("all".to_owned(), |capacity| capacity.to_string())
    }
}

/// A half-life in observations, or `off`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct HalfLife(pub Option<f64>);

impl Setting for HalfLife {
    fn kind(&self) -> &'static str {
        "a number from 1 to 1e12, or off"
    }

    fn parse(&mut self, text: &str) -> bool {
        let parsed = match text {
            "off" => Some(Self(None)),
            number => {
                let number = number.parse().ok().filter(|number| (1.0..=1e12).contains(number));
                number.map(|number| Self(Some(number)))
            }
        };
        take(self, parsed)
    }

    fn format(&self) -> String {
        self.0.map_or("off".to_owned(), |half_life| half_life.format())
    }
}

/// A number of observations after which something begins, or `never`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Start(pub Option<u32>);

impl Setting for Start {
    fn kind(&self) -> &'static str {
        "a whole number above 0, or never"
    }

    fn parse(&mut self, text: &str) -> bool {
        let parsed = match text {
            "never" => Some(Self(None)),
            number => number.parse().ok().filter(|&number| number > 0).map(|number| Self(Some(number))),
        };
        take(self, parsed)
    }

    fn format(&self) -> String {
        self.0.map_or("never".to_owned(), |start| start.to_string())
    }
}

/// `inputs`, the hidden layers, `outputs`.
pub(crate) fn sizes(inputs: usize, hidden: &Layers, outputs: usize) -> Vec<usize> {
    [inputs].into_iter().chain(hidden.0.iter().copied()).chain([outputs]).collect()
}
