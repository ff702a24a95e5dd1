//! Command-line arguments.

use std::path::PathBuf;

use clap::{ArgGroup, Args, Parser, Subcommand, ValueEnum};
use clap_complete::Shell;
use locus_bench::experiment::Shard;
use locus_bench::problem::{CsvOptions, MissingValues, parse_delimiter};
use locus_bench::summary::{Format, Metric};

/// Compare contextual-bandit policies on your machine
#[derive(Debug, Parser)]
#[command(name = "locus", version, max_term_width = 100, after_help = EXAMPLES)]
pub(crate) struct Cli {
    #[command(subcommand)]
    pub(crate) command: Command,
}

/// No line is longer than 80 characters, so that none wraps on a standard terminal.
const EXAMPLES: &str = "\
Examples:
  locus bench                                 no files needed, about a minute
  locus data fetch --data DIR                 downloads the benchmark's files
  locus bench --suite paper --data DIR        the paper's eight problems
  locus inspect mine.csv --label outcome      how your own table is read
  locus bench --csv mine.csv --label outcome  policies on your own table
  locus table runs/quick                      the results as a table
  locus report runs/quick                     the same as a page with figures
  locus status runs/paper                     the progress of a run
  locus plan --shards 8 --pace runs/quick     shards that take equally long
  locus merge runs/all runs/paper-shard-*     shards of several machines as one
  locus explore mushroom --data DIR           posterior samples for a context
  locus policies lin-full-post                every setting with its range
  locus bench --problems wheel --policies 'lin-full-post[prior_precision=1]'

A run is a folder. Ctrl-C stops it: finished trials are kept, running ones are
discarded, and the same command resumes. Each command has --help with examples.

Exit codes:
  0    done
  1    a trial failed, or a file could not be downloaded or written
  2    command, suite or input file invalid or missing; nothing was run
  130  interrupted by Ctrl-C";

const BENCH_EXAMPLES: &str = "\
Examples:
  locus bench
  locus bench --suite paper --data DIR --dry-run
  locus bench --problems wheel,linear --policies lin-full-post,lu-gauss --trials 10
  locus bench --csv mine.csv --label outcome
  locus bench --suite paper --data DIR --shard 3/64
  locus bench --only wheel lu-gauss 7 --only wheel uniform 7";

const PLAN_EXAMPLES: &str = "\
Examples:
  locus plan --suite paper --data DIR --shards 64 --pace runs/paper
  locus bench --suite paper --data DIR --shard 3/64 --plan plan.json
  locus plan --suite paper --data DIR --shards 2000 --pace runs/paper --simulate 1000";

const TABLE_EXAMPLES: &str = "\
Examples:
  locus table runs/quick
  locus table runs/quick --metric runtime --format markdown
  locus table runs/quick --against lin-full-post";

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Run trials and record them; ends with a table and a report
    #[command(after_help = BENCH_EXAMPLES)]
    Bench(Box<BenchArgs>),
    /// Show the results of a run as a table
    #[command(after_help = TABLE_EXAMPLES)]
    Table(TableArgs),
    /// Write a report of one run, or a comparison of several: a page with tables and figures
    ///
    /// Reads records only: runs nothing, and works during a run. The page needs no network; its figures are SVG files in
    /// figures/. Folders with the same seed, number of steps and data are compared with each other; others are shown separately.
    #[command(after_help = "Example: locus report runs/quick")]
    Report(ReportArgs),
    /// Show the progress of a running or interrupted run
    ///
    /// Trials done, mean so far and time left for each policy on each problem, and whether a process is running it. Reads records
    /// only: the run is not disturbed.
    #[command(after_help = "Example: locus status runs/paper")]
    Status(StatusArgs),
    /// Plan shards that take about as long each, and simulate them
    ///
    /// Writes a file for `locus bench --shard I/N --plan FILE`: the longest trials are assigned first, each to the shard that has least
    /// so far. How long a trial takes is read from recorded runs (--pace): the median of its policy and problem. Prints the simulated
    /// efficiency, seconds of trials divided by those of all nodes, if each trial takes that median, and if it takes the seconds of a
    /// recorded trial, drawn at random with a fixed seed, which other work on the machine may have made much longer.
    #[command(after_help = PLAN_EXAMPLES)]
    Plan(Box<PlanArgs>),
    /// Join the folders of several runs, such as shards, into one
    ///
    /// OUT may be new, or hold a run. The folders must have the same seed, steps, propensities, data and settings. A trial that several
    /// folders have is kept once, from the first of them; if regrets or curves differ, nothing is merged, and the trials are listed.
    /// A success replaces a failure. Says what is missing. Merging again changes nothing, so a merge that was killed can be repeated,
    /// and folders of shards that still run can be merged again later.
    #[command(after_help = "Example: locus merge runs/paper runs/paper-shard-*")]
    Merge(MergeArgs),
    /// Show posterior samples of mean rewards for chosen contexts, and how they change as policies learn
    ///
    /// All policies play one trial, the same as `locus bench` runs for that seed, trial and number of steps. Every few
    /// steps, mean rewards are sampled from each posterior: many samples for one followed context, and one sample for each context
    /// of the trial with the same best action. OUT/explore then holds both as heat maps (SVG), tables (CSV) and a
    /// summary; `locus report OUT` shows them if OUT is the folder of a run.
    ///
    /// Without --context, on mushroom, the followed context is a poisonous mushroom that all policies first misjudge as edible.
    /// It is taken from the first sampling step, within the first tenth of the trial, at which, for at least one poisonous
    /// mushroom, every policy expects more reward of Eat than of Not eat; of several such mushrooms, the one with the largest
    /// minimum difference over the policies. On other problems it is the context of round 0.
    #[command(after_help = "Example: locus explore mushroom --data DIR")]
    Explore(Box<ExploreArgs>),
    /// Show how a CSV or NPZ file of your own is read, without running anything
    ///
    /// For a CSV file: each column as numeric, categorical, label or ignored, with the reason (identifier, date, constant text, text with
    /// too many values); rows dropped because a value is missing; features and actions. `locus bench --csv` prints the same
    /// before it runs. For an NPZ file: array sizes and mean rewards.
    #[command(after_help = "Example: locus inspect mine.csv --label outcome")]
    Inspect(InspectArgs),
    /// List the problems
    #[command(after_help = "Example: locus problems")]
    Problems,
    /// List the policies, with every setting, its range, default and source
    #[command(after_help = "Example: locus policies lu-gauss lin-full-post")]
    Policies {
        /// Only the policies with these ids
        ids: Vec<String>,
    },
    /// List the benchmark's data files (found or missing, rows, checksum, license, source), or download them
    #[command(after_help = "Examples:\n  locus data --data DIR\n  locus data fetch --data DIR")]
    Data(DataListArgs),
    /// Print a completion script for a shell
    #[command(after_help = "Example: source <(locus completions bash)")]
    Completions {
        /// The shell
        shell: Shell,
    },
}

/// The default suite.
pub(crate) const DEFAULT_SUITE: &str = "quick";

// What a run consists of. No doc comment: clap would show it in place of the description of the command.
#[derive(Debug, Args)]
pub(crate) struct DescribedArgs {
    /// What to run: `quick`, `paper`, or a TOML file of your own [default: quick]
    #[arg(long, value_name = "NAME|FILE.toml")]
    pub(crate) suite: Option<String>,
    /// Problems instead of the suite's, separated by commas
    #[arg(long, value_name = "NAMES", value_delimiter = ',')]
    pub(crate) problems: Option<Vec<String>>,
    /// Policies instead of the suite's: `id[@preset][key=value,…]`, separated by commas; uniform always runs
    #[arg(long, value_name = "POLICIES")]
    pub(crate) policies: Option<String>,
    /// A CSV file with a header, as a classification problem; replaces the suite's problems. Prints how each column is used;
    /// `locus inspect` does only that. The file is read twice, so it cannot be a pipe
    #[arg(long, value_name = "FILE", requires = "label")]
    pub(crate) csv: Vec<PathBuf>,
    /// The label's column in the CSV file, by name or by number from 0; once for each --csv
    #[arg(long, value_name = "COLUMN", requires = "csv")]
    pub(crate) label: Vec<String>,
    /// An NPZ file with `contexts` [T,C], `rewards` [T,A] and optionally `optimal` [T], run in its own order. `optimal` is the
    /// best expected reward of each round, not the index of the best action
    #[arg(long, value_name = "FILE")]
    pub(crate) npz: Vec<PathBuf>,
    #[command(flatten)]
    pub(crate) columns: ColumnArgs,
    /// Trials of each policy on each problem, instead of the suite's
    #[arg(long, value_name = "N")]
    pub(crate) trials: Option<usize>,
    /// The number of the first trial, instead of the suite's; trials of the same number see the same sequence
    #[arg(long, value_name = "N")]
    pub(crate) first_trial: Option<usize>,
    /// Steps per trial [default: the suite's; if problems are named without --suite, 2000, or all rows of a shorter file]
    #[arg(long, value_name = "T")]
    pub(crate) steps: Option<usize>,
    /// The random seed, instead of the suite's
    #[arg(long, value_name = "NUMBER")]
    pub(crate) seed: Option<u64>,
    /// Request the exact propensity of every decision: the policy computes the probability of each action and samples the action
    /// from these probabilities. Slower. Sequences and policy seeds do not change, nor do the choices of policies that always
    /// report propensities, such as uniform. A folder holds trials either with or without propensities. `--propensities=false`
    /// overrides a suite [default: the suite's, or off]
    #[arg(
        long,
        value_name = "BOOL",
        num_args = 0..=1,
        require_equals = true,
        default_missing_value = "true",
        hide_possible_values = true
    )]
    pub(crate) propensities: Option<bool>,
    #[command(flatten)]
    pub(crate) data: DataArgs,
}

#[derive(Debug, Args)]
pub(crate) struct BenchArgs {
    #[command(flatten)]
    pub(crate) run: DescribedArgs,
    /// Threads that run trials; the results do not depend on it [default: one per core]
    #[arg(long, value_name = "N")]
    pub(crate) jobs: Option<usize>,
    /// The run's folder [default: in runs/, named after the suite, or after the problems that replace its own]
    #[arg(long, value_name = "DIR")]
    pub(crate) out: Option<PathBuf>,
    /// Run only shard i of n, from 1: every n-th trial of the list of all trials, so that n machines share a run. The cut depends
    /// only on problems, policies and trials; the rows are those of one machine [default folder: that of the run, named after
    /// the shard]
    #[arg(long, value_name = "I/N", conflicts_with = "only")]
    pub(crate) shard: Option<Shard>,
    /// With --shard: use the shards of this file, which `locus plan` wrote for the same arguments
    #[arg(long, value_name = "FILE", requires = "shard")]
    pub(crate) plan: Option<PathBuf>,
    /// Run only trial N of a policy on a problem, of those that the other arguments describe; can be repeated
    #[arg(long, num_args = 3, value_names = ["PROBLEM", "POLICY", "N"])]
    pub(crate) only: Vec<String>,
    /// Print what would run and an estimate of its duration, without running it
    #[arg(long)]
    pub(crate) dry_run: bool,
}

#[derive(Debug, Args)]
pub(crate) struct PlanArgs {
    #[command(flatten)]
    pub(crate) run: DescribedArgs,
    /// The number of shards
    #[arg(long, value_name = "N")]
    pub(crate) shards: usize,
    /// The folder of a run whose seconds tell how long trials take; can be repeated. Trials of other numbers of steps count in
    /// proportion. What no folder has is guessed
    #[arg(long, value_name = "FOLDER")]
    pub(crate) pace: Vec<PathBuf>,
    /// The plan's file; a different one is not overwritten
    #[arg(long, value_name = "FILE", default_value = "plan.json")]
    pub(crate) output: PathBuf,
    /// Simulate a queue of the shards on this many nodes, each of which takes the next shard when it has ended one
    #[arg(long, value_name = "NODES")]
    pub(crate) simulate: Option<usize>,
    /// The share of these nodes that fail, at uniform times; their shards run again from the beginning
    #[arg(long, value_name = "SHARE", default_value_t = 0.02, requires = "simulate")]
    pub(crate) failing: f64,
}

// How the columns of a CSV file are read. No doc comment: clap would show it in place of the description of the command.
#[derive(Debug, Args)]
pub(crate) struct ColumnArgs {
    /// Columns to ignore, by name or by number from 0, separated by commas. Applies to every --csv; a suite can set it per file
    #[arg(long, value_name = "COLUMNS")]
    pub(crate) ignore: Vec<String>,
    /// Columns to read as categories. For the label, this allows fractions and more than 100 values
    #[arg(long, value_name = "COLUMNS")]
    pub(crate) categorical: Vec<String>,
    /// Columns to read as numbers, even if they look like identifiers
    #[arg(long, value_name = "COLUMNS")]
    pub(crate) numeric: Vec<String>,
    /// How to handle missing values (empty cells, `?`, `NA`, `NaN`). `drop` drops the row. `category` makes them a separate
    /// category, and drops rows with missing numbers. `median` does the same, but fills missing numbers with the median [default:
    /// drop]
    #[arg(long, value_name = "drop|category|median", value_enum, hide_possible_values = true)]
    pub(crate) missing: Option<MissingArg>,
    /// The delimiter of the CSV file: one character, or `tab` [default: a comma]
    #[arg(long, value_name = "CHARACTER", value_parser = parse_delimiter)]
    pub(crate) delimiter: Option<u8>,
}

impl ColumnArgs {
    /// The first of these options that is set.
    pub(crate) fn given(&self) -> Option<&'static str> {
        [
            ("--ignore", !self.ignore.is_empty()),
            ("--categorical", !self.categorical.is_empty()),
            ("--numeric", !self.numeric.is_empty()),
            ("--missing", self.missing.is_some()),
            ("--delimiter", self.delimiter.is_some()),
        ]
        .into_iter()
        .find_map(|(option, is_given)| is_given.then_some(option))
    }
}

impl From<&ColumnArgs> for CsvOptions {
    fn from(args: &ColumnArgs) -> Self {
        let defaults = Self::default();
        Self {
            ignore: args.ignore.clone(),
            categorical: args.categorical.clone(),
            numeric: args.numeric.clone(),
            missing: args.missing.map_or(defaults.missing, MissingValues::from),
            delimiter: args.delimiter.unwrap_or(defaults.delimiter),
        }
    }
}

#[derive(Clone, Copy, Debug, ValueEnum)]
pub(crate) enum MissingArg {
    Drop,
    Category,
    Median,
}

impl From<MissingArg> for MissingValues {
    fn from(missing: MissingArg) -> Self {
        match missing {
            MissingArg::Drop => Self::Drop,
            MissingArg::Category => Self::Category,
            MissingArg::Median => Self::Median,
        }
    }
}

#[derive(Debug, Args)]
#[command(after_help = "Example: locus inspect mine.csv --label outcome")]
pub(crate) struct InspectArgs {
    /// The file: CSV with a header (plain, .gz or .zst), or NPZ
    #[arg(value_name = "FILE")]
    pub(crate) file: PathBuf,
    /// The label's column in the CSV file, by name or by number from 0 [default: no column is the label]
    #[arg(long, value_name = "COLUMN")]
    pub(crate) label: Option<String>,
    #[command(flatten)]
    pub(crate) columns: ColumnArgs,
}

#[derive(Debug, Args)]
#[command(group(ArgGroup::new("what").required(true).args(["problem", "csv", "npz"])))]
pub(crate) struct ExploreArgs {
    /// The problem, one of `locus problems`
    pub(crate) problem: Option<String>,
    /// A CSV file with a header, as a classification problem
    #[arg(long, value_name = "FILE", requires = "label")]
    pub(crate) csv: Option<PathBuf>,
    /// The label's column in the CSV file, by name or by number from 0
    #[arg(long, value_name = "COLUMN", requires = "csv")]
    pub(crate) label: Option<String>,
    /// An NPZ file with `contexts` [T,C], `rewards` [T,A] and optionally `optimal` [T], run in its own order. `optimal` is the
    /// best expected reward of each round, not the index of the best action
    #[arg(long, value_name = "FILE")]
    pub(crate) npz: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) columns: ColumnArgs,
    /// The policies: `id[@preset][key=value,…]`, separated by commas; each must have a reward model
    #[arg(long, value_name = "POLICIES", default_value = "lu-gauss,lu-sivi")]
    pub(crate) policies: String,
    /// The context to follow, by its round in the trial, from 0 [default: see above]
    #[arg(long, value_name = "INDEX")]
    pub(crate) context: Option<usize>,
    /// The number of the trial, from 0
    #[arg(long, value_name = "N", default_value_t = 0)]
    pub(crate) trial: usize,
    /// Steps of the trial; for tables with a label, the rounds depend on the number of steps
    #[arg(long, value_name = "T", default_value_t = 2000)]
    pub(crate) steps: usize,
    /// Sample from the posteriors every K steps; the LU policies train every 20
    #[arg(long, value_name = "K", default_value_t = 20)]
    pub(crate) every: usize,
    /// Posterior samples for the followed context each time
    #[arg(long, value_name = "S", default_value_t = 2000)]
    pub(crate) draws: usize,
    /// The random seed
    #[arg(long, value_name = "NUMBER", default_value_t = 0)]
    pub(crate) seed: u64,
    /// Threads that play trials; the results do not depend on it [default: one per core]
    #[arg(long, value_name = "N")]
    pub(crate) jobs: Option<usize>,
    /// The folder in which explore/ is written; it may be a run's folder. Overwrites the same exploration; a different one is an
    /// error [default: in runs/, named after the problem]
    #[arg(long, value_name = "DIR")]
    pub(crate) out: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) data: DataArgs,
}

#[derive(Debug, Args)]
#[command(args_conflicts_with_subcommands = true)]
pub(crate) struct DataListArgs {
    #[command(flatten)]
    pub(crate) data: DataArgs,
    #[command(subcommand)]
    pub(crate) command: Option<DataCommand>,
}

#[derive(Debug, Subcommand)]
pub(crate) enum DataCommand {
    /// Download the files that are missing, unpack them and compare their checksums
    ///
    /// From the benchmark's bucket, or else from the UCI archive. Can be interrupted with Ctrl-C: the same command then downloads
    /// the missing files. Uses the proxy of ALL_PROXY, HTTPS_PROXY or HTTP_PROXY.
    #[command(after_help = "Example: locus data fetch adult --data DIR")]
    Fetch(FetchArgs),
    /// Derive a data file from raw data
    #[command(after_help = "Example: locus data derive jester jester-data-1.csv --data DIR")]
    Derive(DeriveArgs),
}

#[derive(Debug, Args)]
pub(crate) struct FetchArgs {
    /// Only these, by file or by problem, e.g. `adult` [default: all published files]
    #[arg(value_name = "NAME")]
    pub(crate) names: Vec<String>,
    /// A URL to try first, with the layout of the bucket, of the UCI archive or of a folder of data files
    #[arg(long, value_name = "BASE")]
    pub(crate) mirror: Option<String>,
    /// How often to retry when a server fails, after pauses of 1, 2, 4 … seconds
    #[arg(long, value_name = "N", default_value_t = 4, value_parser = clap::value_parser!(u32).range(..=20))]
    pub(crate) retries: u32,
    #[command(flatten)]
    pub(crate) data: DataArgs,
}

#[derive(Debug, Args)]
pub(crate) struct DeriveArgs {
    /// The file to derive
    #[arg(value_enum)]
    pub(crate) what: Derived,
    /// The raw data: Jester dataset 1, `jester-data-1`, saved as CSV; plain, .gz or .zst
    #[arg(value_name = "RAW.csv")]
    pub(crate) raw: PathBuf,
    #[command(flatten)]
    pub(crate) data: DataArgs,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
pub(crate) enum Derived {
    /// The ratings of the 40 most-rated jokes, from the users who rated all of them
    Jester,
}

#[derive(Debug, Args)]
pub(crate) struct DataArgs {
    /// The folder of the benchmark's data files, each plain, .gz or .zst
    #[arg(long = "data", value_name = "DIR", env = "LOCUS_DATA")]
    pub(crate) folder: Option<PathBuf>,
}

#[derive(Debug, Args)]
pub(crate) struct SelectionArgs {
    /// Only these policies of the run, and uniform: `id[@preset][key=value,…]`, separated by commas
    #[arg(long, value_name = "POLICIES")]
    pub(crate) policies: Option<String>,
    /// Only these problems of the run, separated by commas
    #[arg(long, value_name = "NAMES", value_delimiter = ',')]
    pub(crate) problems: Vec<String>,
}

#[derive(Debug, Args)]
pub(crate) struct TableArgs {
    /// The run's folder; several with the same seed, number of steps and data are shown as one. If only some of them ran with
    /// --propensities, their policies are shown as `POLICY (propensities)`
    #[arg(required = true, value_name = "OUT")]
    pub(crate) outs: Vec<PathBuf>,
    #[command(flatten)]
    pub(crate) selection: SelectionArgs,
    /// The metric
    #[arg(long, value_enum, default_value = "cumulative")]
    pub(crate) metric: MetricArg,
    /// Show paired differences from this policy, trial by trial, instead of means (with --policies, of those policies)
    #[arg(long, value_name = "POLICY")]
    pub(crate) against: Option<String>,
    /// The output format
    #[arg(long, value_enum, default_value = "text")]
    pub(crate) format: FormatArg,
}

#[derive(Debug, Args)]
pub(crate) struct ReportArgs {
    /// The runs' folders
    #[arg(required = true, value_name = "OUT")]
    pub(crate) outs: Vec<PathBuf>,
    #[command(flatten)]
    pub(crate) selection: SelectionArgs,
    /// The page if it ends in .html, otherwise its folder; figures/ is written to the same folder [default: the run's folder, if
    /// there is only one]
    #[arg(long, value_name = "FILE.html|DIR")]
    pub(crate) output: Option<PathBuf>,
}

#[derive(Debug, Args)]
pub(crate) struct StatusArgs {
    /// The runs' folders
    #[arg(required = true, value_name = "OUT")]
    pub(crate) outs: Vec<PathBuf>,
    /// The output format
    #[arg(long, value_enum, default_value = "text")]
    pub(crate) format: StatusFormat,
}

#[derive(Debug, Args)]
pub(crate) struct MergeArgs {
    /// The folder that gets all trials
    #[arg(value_name = "OUT")]
    pub(crate) out: PathBuf,
    /// The runs' folders, which are only read
    #[arg(required = true, value_name = "FOLDER")]
    pub(crate) folders: Vec<PathBuf>,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
pub(crate) enum StatusFormat {
    /// For a terminal
    Text,
    /// For a page
    Markdown,
    /// One row per folder, problem and policy
    Csv,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
pub(crate) enum MetricArg {
    /// Cumulative regret, normalized: uniform is 100
    Cumulative,
    /// Mean regret of the last 500 steps (the last quarter of fewer than 2000), normalized: uniform is 100
    Simple,
    /// Seconds per trial: CPU seconds, or wall-clock seconds where a trial has no CPU seconds
    Runtime,
}

impl From<MetricArg> for Metric {
    fn from(metric: MetricArg) -> Self {
        match metric {
            MetricArg::Cumulative => Self::Cumulative,
            MetricArg::Simple => Self::Simple,
            MetricArg::Runtime => Self::Runtime,
        }
    }
}

#[derive(Clone, Copy, Debug, ValueEnum)]
pub(crate) enum FormatArg {
    /// For a terminal
    Text,
    /// For a README
    Markdown,
    /// One row per policy and problem
    Csv,
    /// For a paper, with booktabs
    Latex,
}

impl From<FormatArg> for Format {
    fn from(format: FormatArg) -> Self {
        match format {
            FormatArg::Text => Self::Text,
            FormatArg::Markdown => Self::Markdown,
            FormatArg::Csv => Self::Csv,
            FormatArg::Latex => Self::Latex,
        }
    }
}
