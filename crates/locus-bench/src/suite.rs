//! Suites: experiments as TOML files, two of them built in.
//!
//! ```toml
//! problems = ["wheel", "mushroom"]
//! policies = ["uniform", "lin-full-post[prior_precision=1]"]
//! trials = 10
//! first_trial = 100        # optional, default 0
//! steps = 2000
//! seed = 0                 # optional
//! propensities = true      # optional, default false
//!
//! [[csv]]                  # your own classification data, as with --csv and --label
//! file = "mine.csv"        # relative to the suite file
//! label = "kind"           # a column by name, or by number from 0
//! ignore = ["id"]          # the rest is optional, as the options of --csv
//! categorical = ["zip"]
//! numeric = ["year"]
//! missing = "median"       # or "drop", or "category"
//! delimiter = ";"
//!
//! [[npz]]                  # your own contexts and rewards, as with --npz
//! file = "simulated.npz"
//! ```

use std::fs;
use std::io;
use std::ops::Range;
use std::path::{Path, PathBuf};

use locus::{PolicySpec, Registry, Seed, did_you_mean};
use serde::Deserialize;
use toml::Spanned;

use crate::Error;
use crate::error::ErrorKind;
use crate::problem::{CsvOptions, MissingValues, parse_delimiter};

/// The built-in suites and their files.
pub const BUILT_IN: [(&str, &str); 2] =
    [("quick", include_str!("../suites/quick.toml")), ("paper", include_str!("../suites/paper.toml"))];

/// The problem of the full census file.
pub const CENSUS: &str = "census";
/// The problem that can replace it: see [`Suite::substitute_census`].
pub const CENSUS_PART: &str = "census-10k";

/// An experiment as a suite file describes it: problems by name, nothing loaded yet.
#[derive(Clone, Debug, PartialEq)]
pub struct Suite {
    /// The name of a built-in suite, or the path of the file.
    pub name: String,
    /// Problems by name.
    pub problems: Vec<String>,
    /// Problems from CSV files.
    pub csv: Vec<CsvFile>,
    /// Problems from npz files.
    pub npz: Vec<PathBuf>,
    /// The policies, checked.
    pub policies: Vec<PolicySpec>,
    /// Trials of each policy on each problem, at least 1.
    pub trials: usize,
    /// The number of the first of them.
    pub first_trial: usize,
    /// Steps of each trial, at least 1.
    pub steps: usize,
    /// The random seed.
    pub seed: Seed,
    /// Whether decisions ask for their propensities.
    pub propensities: bool,
}

/// A CSV file with a problem.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CsvFile {
    /// Its path.
    pub file: PathBuf,
    /// The column of the label, by name or by number.
    pub label: String,
    /// How it is read.
    pub options: CsvOptions,
}

impl Suite {
    /// Loads the built-in suite with this name, or else the file at this path.
    ///
    /// Its policies must be in the registry.
    pub fn load(name: &str, registry: &Registry) -> Result<Self, Error> {
        if let Some((_, text)) = BUILT_IN.iter().find(|(built_in, _)| *built_in == name) {
            return Self::parse(name, text, Path::new(""), registry);
        }
        let path = Path::new(name);
        match fs::read_to_string(path) {
            Ok(text) => Self::parse(name, &text, path.parent().unwrap_or(Path::new("")), registry),
            Err(cause) if cause.kind() == io::ErrorKind::NotFound => {
                let hint = did_you_mean(name, BUILT_IN.iter().map(|(built_in, _)| *built_in));
                Err(ErrorKind::UnknownSuite { name: name.to_owned(), hint }.into())
            }
            Err(cause) => {
                Err(ErrorKind::OutFile { doing: "read the suite", path: path.to_owned(), cause }.into())
            }
        }
    }

    /// Replaces `census` by `census-10k` if only the part of the file is available.
    ///
    /// `exists` tells whether the file of a problem is available. Returns a sentence about the replacement.
    pub fn substitute_census(&mut self, exists: impl Fn(&str) -> bool) -> Option<String> {
        let place = self.problems.iter().position(|problem| problem == CENSUS)?;
        if exists(CENSUS) || !exists(CENSUS_PART) {
            return None;
        }
        if self.problems.iter().any(|problem| problem == CENSUS_PART) {
            self.problems.remove(place);
        } else {
            self.problems[place] = CENSUS_PART.to_owned();
        }
        Some(
            "the full census file is missing; its first 10,000 rows, `census-10k`, are used instead"
                .to_owned(),
        )
    }

    fn parse(name: &str, text: &str, folder: &Path, registry: &Registry) -> Result<Self, Error> {
        let invalid = |span: Range<usize>, problem: String| {
            Error::from(ErrorKind::InvalidSuite {
                suite: name.to_owned(),
                line: 1 + text.bytes().take(span.start).filter(|&byte| byte == b'\n').count(),
                problem,
            })
        };
        let file: SuiteFile = toml::from_str(text).map_err(|error| {
            let span = error.span().unwrap_or(0..0);
            let message = error.message().trim_end_matches('.');
            match key_at(text, span.start).filter(|_| !message.contains(" field `")) {
                Some(key) => invalid(span, format!("`{key}`: {message}")),
                None => invalid(span, message.to_owned()),
            }
        })?;
        let positive = |key: &str, number: &Spanned<usize>| match *number.get_ref() {
            0 => Err(invalid(number.span(), format!("`{key}` is 0, expected at least 1"))),
            number => Ok(number),
        };
        if file.problems.is_empty() && file.csv.is_empty() && file.npz.is_empty() {
            let problem =
                "there is no problem; expected names in `problems`, or [[csv]] or [[npz]]".to_owned();
            return Err(invalid(0..0, problem));
        }
        let policies = file.policies.iter().map(|policy| {
            let parsed = registry.parse(policy.get_ref());
            parsed.map_err(|error| invalid(policy.span(), format!("`policies`: {error}")))
        });
        let csv = |csv: CsvTable| {
            let delimiter = match &csv.delimiter {
                Some(text) => {
                    parse_delimiter(text.get_ref()).map_err(|problem| invalid(text.span(), problem))?
                }
                None => CsvOptions::default().delimiter,
            };
            let missing = match &csv.missing {
                Some(name) => {
                    let named =
                        MissingValues::ALL.into_iter().find(|missing| missing.name() == name.get_ref());
                    named.ok_or_else(|| {
                        let known = MissingValues::ALL.map(MissingValues::name).join(", ");
                        let problem = format!("`missing` is `{}`, expected one of {known}", name.get_ref());
                        invalid(name.span(), problem)
                    })?
                }
                None => MissingValues::default(),
            };
            let CsvTable { file, label, ignore, categorical, numeric, .. } = csv;
            let columns = |labels: Vec<Label>| labels.into_iter().map(String::from).collect();
            let options = CsvOptions {
                ignore: columns(ignore),
                categorical: columns(categorical),
                numeric: columns(numeric),
                missing,
                delimiter,
            };
            Ok(CsvFile { file: folder.join(file), label: label.into(), options })
        };
        Ok(Self {
            name: name.to_owned(),
            policies: policies.collect::<Result<_, _>>()?,
            trials: positive("trials", &file.trials)?,
            first_trial: file.first_trial,
            steps: positive("steps", &file.steps)?,
            seed: Seed::new(file.seed),
            propensities: file.propensities,
            problems: file.problems,
            csv: file.csv.into_iter().map(csv).collect::<Result<_, Error>>()?,
            npz: file.npz.into_iter().map(|npz| folder.join(npz.file)).collect(),
        })
    }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct SuiteFile {
    #[serde(default)]
    problems: Vec<String>,
    policies: Vec<Spanned<String>>,
    trials: Spanned<usize>,
    #[serde(default)]
    first_trial: usize,
    steps: Spanned<usize>,
    #[serde(default)]
    seed: u64,
    #[serde(default)]
    propensities: bool,
    #[serde(default)]
    csv: Vec<CsvTable>,
    #[serde(default)]
    npz: Vec<NpzTable>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct CsvTable {
    file: PathBuf,
    label: Label,
    #[serde(default)]
    ignore: Vec<Label>,
    #[serde(default)]
    categorical: Vec<Label>,
    #[serde(default)]
    numeric: Vec<Label>,
    missing: Option<Spanned<String>>,
    delimiter: Option<Spanned<String>>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct NpzTable {
    file: PathBuf,
}

#[derive(Deserialize)]
#[serde(untagged, expecting = "expected the name of a column or its number")]
enum Label {
    Name(String),
    Number(usize),
}

impl From<Label> for String {
    fn from(label: Label) -> Self {
        match label {
            Label::Name(name) => name,
            Label::Number(number) => number.to_string(),
        }
    }
}

/// The key of the value at this place: the parser's message tells only what was found and expected.
fn key_at(text: &str, place: usize) -> Option<&str> {
    let end = text.get(place..)?.find('\n').map_or(text.len(), |length| place + length);
    let with_value = text[..end].lines().rev().find_map(|line| line.split_once('='))?;
    let key = with_value.0.trim();
    (!key.is_empty() && key.chars().all(|letter| letter.is_ascii_alphanumeric() || letter == '_'))
        .then_some(key)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn parse(text: &str) -> Result<Suite, Error> {
        Suite::parse("my.toml", text, Path::new("folder"), &Registry::standard())
    }

    #[test]
    fn built_in_suites_are_as_announced() {
        let quick = Suite::load("quick", &Registry::standard()).unwrap();
        assert_eq!(quick.problems, ["linear", "folded", "wheel"]);
        assert_eq!((quick.trials, quick.steps, quick.seed), (12, 2000, Seed::new(0)));
        let paper = Suite::load("paper", &Registry::standard()).unwrap();
        assert_eq!((paper.problems.len(), paper.trials, paper.steps), (8, 50, 2000));
        assert_eq!((quick.first_trial, paper.first_trial), (0, 0));
        assert!(!quick.propensities && !paper.propensities);
        for suite in [quick, paper] {
            assert_eq!(suite.policies[0].to_string(), "uniform");
        }
    }

    /// Every suite that the documentation names can be run: its policies, presets and settings exist.
    #[test]
    fn every_suite_in_configs_parses() {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../configs");
        let files: Vec<_> = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
        assert!(!files.is_empty(), "{files:?}");
        for file in files {
            let suite = Suite::load(file.to_str().unwrap(), &Registry::standard()).unwrap();
            assert_eq!(suite.policies[0].to_string(), "uniform", "{}", file.display());
        }
    }

    #[test]
    fn own_files_lie_beside_the_suite() {
        let suite = parse(
            "policies = ['uniform', 'lin-full-post[prior_precision=1]']\ntrials = 2\nfirst_trial = 100\nsteps = 3\nseed = 4\npropensities = true\n\
             [[csv]]\nfile = 'a.csv'\nlabel = 'kind'\n[[csv]]\nfile = '/b.csv'\nlabel = 3\n\
             ignore = ['id', 4]\ncategorical = ['zip']\nnumeric = ['year']\nmissing = 'median'\ndelimiter = ';'\n[[npz]]\nfile = 'c.npz'\n",
        )
        .unwrap();
        let options = CsvOptions::default();
        let first = CsvFile { file: "folder/a.csv".into(), label: "kind".to_owned(), options };
        assert_eq!(suite.csv[0], first);
        let options = CsvOptions {
            ignore: vec!["id".to_owned(), "4".to_owned()],
            categorical: vec!["zip".to_owned()],
            numeric: vec!["year".to_owned()],
            missing: MissingValues::Median,
            delimiter: b';',
        };
        assert_eq!(suite.csv[1], CsvFile { file: "/b.csv".into(), label: "3".to_owned(), options });
        assert_eq!(suite.npz, [PathBuf::from("folder/c.npz")]);
        assert_eq!((suite.trials, suite.first_trial), (2, 100));
        assert_eq!((suite.steps, suite.seed, suite.propensities), (3, Seed::new(4), true));
        assert_eq!(suite.policies[1].to_string(), "lin-full-post[prior_precision=1]");
    }

    #[test]
    fn mistakes_are_named_with_file_line_and_key() {
        let rest = "problems = ['wheel']\npolicies = ['uniform']\nsteps = 2\n";
        let cases = [
            (format!("{rest}trials = 0\n"), "suite `my.toml`, line 4: `trials` is 0, expected at least 1"),
            (
                format!("{rest}trials = 'x'\n"),
                "suite `my.toml`, line 4: `trials`: invalid type: string \"x\"",
            ),
            (format!("{rest}trials = -1\n"), "line 4: `trials`: invalid value: integer `-1`"),
            (format!("{rest}trials = 1\ntrails = 2\n"), "line 5: unknown field `trails`, expected"),
            (
                format!("{rest}trials = 1\npropensities = 1\n"),
                "line 5: `propensities`: invalid type: integer `1`",
            ),
            (rest.to_owned(), "missing field `trials`"),
            (format!("{rest}trials = \n"), "line 4: `trials`: "),
            (format!("{rest}trials = 1\n[[csv]]\nfile = 'a'\n"), "line 5: missing field `label`"),
            (
                format!("{rest}trials = 1\n[[csv]]\nfile = 'a'\nlabel = 1.5\n"),
                "line 7: `label`: expected the name",
            ),
            (
                format!("{rest}trials = 1\n[[csv]]\nfile = 'a'\nlabel = 1\nmissing = 'mean'\n"),
                "line 8: `missing` is `mean`, expected one of drop, category, median",
            ),
            (
                format!("{rest}trials = 1\n[[csv]]\nfile = 'a'\nlabel = 1\ndelimiter = ';;'\n"),
                "line 8: the delimiter is `;;`, expected one character",
            ),
            (
                format!("{rest}trials = 1\n[[csv]]\nfile = 'a'\nlabel = 1\nignore = [1.5]\n"),
                "line 8: `ignore`: expected the name",
            ),
            (
                "policies = [\n  'uniform',\n  'unifrom',\n]\ntrials = 1\nsteps = 1\nproblems = ['wheel']\n"
                    .to_owned(),
                "suite `my.toml`, line 3: `policies`: no policy is called `unifrom`",
            ),
            ("policies = []\ntrials = 1\nsteps = 1\n".to_owned(), "there is no problem; expected names in"),
        ];
        for (text, expected) in cases {
            let message = parse(&text).unwrap_err().to_string();
            assert!(message.contains(expected), "{message}\n  expected: {expected}");
        }
        let message = Suite::load("quikc", &Registry::standard()).unwrap_err().to_string();
        assert!(message.starts_with("no suite is called `quikc`"), "{message}");
    }

    #[test]
    fn the_part_of_the_census_stands_in_only_where_the_whole_is_missing() {
        let paper = Suite::load("paper", &Registry::standard()).unwrap();
        let mut suite = paper.clone();
        assert_eq!(suite.substitute_census(|_| true), None);
        assert_eq!(suite.substitute_census(|_| false), None);
        assert_eq!(suite, paper);
        let note = suite.substitute_census(|problem| problem == "census-10k").unwrap();
        assert!(note.contains("census-10k"));
        assert_eq!(suite.problems[7], "census-10k");
        assert_eq!(suite.problems[..7], paper.problems[..7]);
        suite.problems.push("census".to_owned());
        suite.substitute_census(|problem| problem == "census-10k").unwrap();
        assert_eq!(suite.problems.len(), 8);
    }

    proptest! {
        #[test]
        fn no_text_panics(
            text in any::<String>(),
            line in prop::sample::select(vec!["problems", "policies", "trials", "first_trial", "steps", "seed", "propensities", "csv"]),
            value in "[\\[\\]{}'\"=,a-z0-9é\n. -]{0,20}",
        ) {
            let _ = parse(&text);
            let _ = parse(&format!("policies = ['uniform']\ntrials = 1\nsteps = 1\n{line} = {value}\n"));
            let _ = parse(&format!("{line} = {value}\n"));
        }
    }
}
