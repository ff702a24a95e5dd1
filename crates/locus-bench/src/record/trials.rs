//! The rows of `trials.csv`: reading, checking, and the bytes of one row.
//!
//! A row never spans lines (line breaks in an error become ` / `), so whatever follows the last line break is a row that was
//! torn, and nothing else can be. Anything unexpected before it is an error with its line number: rows are results of hours and
//! must not be discarded.
//!
//! The header says which columns follow. A file of an earlier version, which lacks [`CPU_SECONDS`] or also [`INTERVENTIONS`], is
//! read as one whose rows leave those columns empty, and becomes such a file when a run resumes in its folder; older versions of
//! Locus refuse it then, by its header.

use std::fs;
use std::io;
use std::path::Path;

use super::{TRIALS_FILE, TrialIndex};
use crate::Error;
use crate::error::ErrorKind;
use crate::trial::{TrialId, TrialResult};

/// The columns of `trials.csv`.
pub const COLUMNS: [&str; 13] = [
    "problem",
    "policy",
    "trial",
    "seed",
    "steps",
    "cumulative_regret",
    "simple_regret",
    "seconds_choosing",
    "seconds_learning",
    CPU_SECONDS,
    INTERVENTIONS,
    "version",
    "error",
];

/// The columns that files of earlier versions lack.
const CPU_SECONDS: &str = "cpu_seconds";
const INTERVENTIONS: &str = "interventions";
/// Places of columns that are checked or filled in.
const CPU_SECONDS_PLACE: usize = 9;
const INTERVENTIONS_PLACE: usize = 10;
const VERSION_PLACE: usize = 11;
const ERROR_PLACE: usize = 12;

/// A trial that ended, well or not.
#[derive(Clone, Debug, PartialEq)]
pub struct TrialRow {
    /// Which trial.
    pub id: TrialId,
    /// The seed of the experiment, from which the trial's own seeds are derived.
    pub seed: u64,
    /// T, the number of steps.
    pub steps: usize,
    /// Its numbers, or its error.
    pub outcome: Result<Measured, String>,
    /// The version of Locus that ran it.
    pub version: String,
}

/// The numbers of a trial. Regrets are raw, not normalized.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Measured {
    /// The sum of all regrets.
    pub cumulative_regret: f64,
    /// The mean regret of the last 500 steps, or of the last quarter of fewer than 2000.
    pub simple_regret: f64,
    /// Wall seconds that the policy took to choose.
    pub seconds_choosing: f64,
    /// Wall seconds that the policy took to learn.
    pub seconds_learning: f64,
    /// CPU seconds of the whole trial; `None` from earlier versions, and on systems without a CPU clock.
    pub cpu_seconds: Option<f64>,
    /// How often a guard changed a number to continue training; `None` from earlier versions.
    pub interventions: Option<u64>,
}

impl Measured {
    /// Wall seconds that the policy took, choosing and learning.
    pub fn seconds(&self) -> f64 {
        self.seconds_choosing + self.seconds_learning
    }
}

impl From<&TrialResult> for Measured {
    fn from(result: &TrialResult) -> Self {
        Self {
            cumulative_regret: result.cumulative_regret(),
            simple_regret: result.simple_regret(),
            seconds_choosing: result.seconds_choosing,
            seconds_learning: result.seconds_learning,
            cpu_seconds: result.cpu_seconds,
            interventions: Some(result.interventions),
        }
    }
}

impl TrialRow {
    /// The row as a line of `trials.csv`, with its line break.
    pub(crate) fn to_line(&self) -> Vec<u8> {
        // `{:?}` gives the shortest digits that read back as the same number.
        let numbers = match &self.outcome {
            Ok(m) => [m.cumulative_regret, m.simple_regret, m.seconds_choosing, m.seconds_learning]
                .map(|number| format!("{number:?}")),
            Err(_) => Default::default(),
        };
        let error = self.outcome.as_ref().err().map(|error| single_line(error)).unwrap_or_default();
        let interventions = self.outcome.as_ref().ok().and_then(|measured| measured.interventions);
        let cpu_seconds = self.outcome.as_ref().ok().and_then(|measured| measured.cpu_seconds);
        let [cumulative, simple, choosing, learning] = numbers;
        line(&[
            self.id.problem.clone(),
            self.id.policy.clone(),
            self.id.trial.to_string(),
            self.seed.to_string(),
            self.steps.to_string(),
            cumulative,
            simple,
            choosing,
            learning,
            cpu_seconds.map(|number| format!("{number:?}")).unwrap_or_default(),
            interventions.map(|number| number.to_string()).unwrap_or_default(),
            self.version.clone(),
            error,
        ])
    }

    fn parse(fields: &csv::StringRecord, layout: Layout) -> Result<Self, String> {
        if fields.len() != layout.n_columns() {
            return Err(format!("found {} fields, expected {}", fields.len(), layout.n_columns()));
        }
        let completed;
        let fields = match layout {
            Layout::Present => fields,
            _ => {
                completed = layout.completed(fields);
                &completed
            }
        };
        let invalid = |column: usize, expected: &str| {
            format!("`{}` is `{}`, expected {expected}", COLUMNS[column], &fields[column])
        };
        let whole = |column: usize| fields[column].parse().map_err(|_| invalid(column, "a whole number"));
        let count = |column: usize| fields[column].parse().map_err(|_| invalid(column, "a whole number"));
        let real = |column: usize| {
            let number = fields[column].parse::<f64>().ok().filter(|number| number.is_finite());
            number.ok_or_else(|| invalid(column, "a finite number"))
        };
        for column in [0, 1, VERSION_PLACE] {
            if fields[column].is_empty() {
                return Err(invalid(column, "a name"));
            }
        }
        let outcome = if fields[ERROR_PLACE].is_empty() {
            let has = |column: usize| !fields[column].is_empty();
            Ok(Measured {
                cumulative_regret: real(5)?,
                simple_regret: real(6)?,
                seconds_choosing: real(7)?,
                seconds_learning: real(8)?,
                cpu_seconds: has(CPU_SECONDS_PLACE).then(|| real(CPU_SECONDS_PLACE)).transpose()?,
                interventions: has(INTERVENTIONS_PLACE).then(|| count(INTERVENTIONS_PLACE)).transpose()?,
            })
        } else {
            match (5..=INTERVENTIONS_PLACE).find(|&column| !fields[column].is_empty()) {
                Some(column) => return Err(invalid(column, "nothing, since the trial failed")),
                None => Err(fields[ERROR_PLACE].to_owned()),
            }
        };
        let id = TrialId { problem: fields[0].to_owned(), policy: fields[1].to_owned(), trial: whole(2)? };
        let (seed, steps, version) = (count(3)?, whole(4)?, fields[VERSION_PLACE].to_owned());
        Ok(Self { id, seed, steps, outcome, version })
    }
}

/// Which columns the rows of a file have.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Layout {
    /// All of [`COLUMNS`].
    #[default]
    Present,
    /// Without CPU seconds, as earlier versions wrote them.
    WithoutCpuSeconds,
    /// Without CPU seconds and interventions, as versions before those wrote them.
    WithoutInterventions,
}

impl Layout {
    fn of_header(header: &csv::StringRecord) -> Result<Self, String> {
        let layouts = [Self::Present, Self::WithoutCpuSeconds, Self::WithoutInterventions];
        let is_it = |layout: &Self| {
            let absent = layout.absent();
            let columns = COLUMNS.iter().enumerate().filter(|(place, _)| !absent.contains(place));
            header.iter().eq(columns.map(|(_, column)| *column))
        };
        let found = layouts.into_iter().find(is_it);
        found.ok_or_else(|| format!("expected the header `{}`", COLUMNS.join(",")))
    }

    /// The places in [`COLUMNS`] of the columns that the file lacks, in ascending order.
    fn absent(self) -> &'static [usize] {
        match self {
            Self::Present => &[],
            Self::WithoutCpuSeconds => &[CPU_SECONDS_PLACE],
            Self::WithoutInterventions => &[CPU_SECONDS_PLACE, INTERVENTIONS_PLACE],
        }
    }

    fn n_columns(self) -> usize {
        COLUMNS.len() - self.absent().len()
    }

    /// The fields of a row in the places of [`COLUMNS`].
    fn completed(self, fields: &csv::StringRecord) -> csv::StringRecord {
        let mut all: Vec<&str> = fields.iter().collect();
        self.absent().iter().for_each(|place| all.insert(*place, ""));
        all.into()
    }
}

/// All rows of a `trials.csv`.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Trials {
    pub(crate) rows: Vec<TrialRow>,
    /// Whether a torn line, not among the rows, follows them.
    pub(crate) is_torn: bool,
    /// Whether the file has the columns of an earlier version, so that no row can be added to it as it is.
    pub(crate) is_of_old: bool,
}

impl Trials {
    /// The bytes of the file that holds these rows.
    pub(crate) fn to_bytes(&self) -> Vec<u8> {
        let mut bytes = line(&COLUMNS);
        self.rows.iter().for_each(|row| bytes.extend(row.to_line()));
        bytes
    }

    /// Every row, or the first damage.
    fn parse(bytes: &[u8], path: &Path) -> Result<Self, Error> {
        Self::parse_around(bytes, path, Err)
    }

    /// Every readable row; `on_damage` receives the error of each damaged line, and decides whether to continue.
    fn parse_around(
        bytes: &[u8],
        path: &Path,
        mut on_damage: impl FnMut(Error) -> Result<(), Error>,
    ) -> Result<Self, Error> {
        let complete = bytes.iter().rposition(|&byte| byte == b'\n').map_or(0, |last| last + 1);
        let mut rows: Vec<TrialRow> = Vec::new();
        let mut line_of = TrialIndex::default();
        let mut layout = Layout::default();
        for (index, bytes) in bytes[..complete].split_inclusive(|&byte| byte == b'\n').enumerate() {
            let line = index + 1;
            let damaged =
                |problem| Error::from(ErrorKind::DamagedTrials { path: path.to_owned(), line, problem });
            if line == 1 {
                // Without its header nothing is known of what follows.
                layout = fields(bytes).and_then(|header| Layout::of_header(&header)).map_err(damaged)?;
                continue;
            }
            match fields(bytes).and_then(|fields| Self::next_row(&fields, layout, &rows, &line_of)) {
                Ok(row) => {
                    line_of.insert(&row.id, line);
                    rows.push(row);
                }
                Err(problem) => on_damage(damaged(problem))?,
            }
        }
        let is_of_old = layout != Layout::Present;
        Ok(Self { rows, is_torn: complete < bytes.len(), is_of_old })
    }

    /// The row, if it belongs with those before it.
    fn next_row(
        fields: &csv::StringRecord,
        layout: Layout,
        rows: &[TrialRow],
        line_of: &TrialIndex,
    ) -> Result<TrialRow, String> {
        let row = TrialRow::parse(fields, layout)?;
        if let Some(first) = rows.first().filter(|first| (first.seed, first.steps) != (row.seed, row.steps)) {
            return Err(format!(
                "seed {} and {} steps, but line {} has seed {} and {} steps",
                row.seed,
                row.steps,
                line_of.get(&first.id).unwrap_or_default(),
                first.seed,
                first.steps
            ));
        }
        match line_of.get(&row.id) {
            Some(earlier) => Err(format!("{} is already on line {earlier}", row.id)),
            None => Ok(row),
        }
    }
}

/// The trials that were recorded in the folder `out`, in the order in which they ended.
///
/// Skips a torn last line: that trial had not ended.
pub fn read_trials(out: &Path) -> Result<Vec<TrialRow>, Error> {
    match read_all_trials(out)? {
        Some(trials) => Ok(trials.rows),
        None => Err(ErrorKind::NoTrials { out: out.to_owned() }.into()),
    }
}

/// Like [`read_trials`], but skips damaged lines and returns their errors.
///
/// Use it to show results; code that adds to a run must read all rows.
pub fn read_readable_trials(out: &Path) -> Result<(Vec<TrialRow>, Vec<Error>), Error> {
    let path = out.join(TRIALS_FILE);
    let bytes = match fs::read(&path) {
        Ok(bytes) => bytes,
        Err(cause) if is_absent(&cause) => return Err(ErrorKind::NoTrials { out: out.to_owned() }.into()),
        Err(cause) => return Err(ErrorKind::OutFile { doing: "read", path, cause }.into()),
    };
    let mut damages = Vec::new();
    let trials = Trials::parse_around(&bytes, &path, |damage| {
        damages.push(damage);
        Ok(())
    })?;
    Ok((trials.rows, damages))
}

/// Rows and whether the file was torn; `None` where there is no file.
pub(crate) fn read_all_trials(out: &Path) -> Result<Option<Trials>, Error> {
    let path = out.join(TRIALS_FILE);
    match fs::read(&path) {
        Ok(bytes) => Trials::parse(&bytes, &path).map(Some),
        Err(cause) if is_absent(&cause) => Ok(None),
        Err(cause) => Err(ErrorKind::OutFile { doing: "read", path, cause }.into()),
    }
}

/// Whether there is no such file, or a file where its folder should be.
fn is_absent(cause: &io::Error) -> bool {
    matches!(cause.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory)
}

/// Line breaks would let a row span lines.
fn single_line(text: &str) -> String {
    text.lines().map(str::trim).filter(|part| !part.is_empty()).collect::<Vec<_>>().join(" / ")
}

/// RFC 4180, with a plain line feed at the end as everything on Unix expects it.
fn line(fields: &[impl AsRef<[u8]>]) -> Vec<u8> {
    // A writer for each line is slow, and is needed only where something is quoted.
    let is_special = |byte: &u8| matches!(byte, b'"' | b',' | b'\r' | b'\n');
    if !fields.iter().any(|field| field.as_ref().iter().any(is_special)) {
        let mut bytes = fields.iter().map(AsRef::as_ref).collect::<Vec<_>>().join(&b',');
        bytes.push(b'\n');
        return bytes;
    }
    let mut writer = csv::Writer::from_writer(Vec::new());
    writer.write_record(fields).expect("a Vec takes every write, and one record has one length");
    writer.into_inner().expect("a Vec can be flushed")
}

fn fields(line: &[u8]) -> Result<csv::StringRecord, String> {
    // A reader for each line is slow, and is needed only where something is quoted.
    let is_plain = |text: &&[u8]| !text.is_empty() && !text.iter().any(|byte| matches!(byte, b'"' | b'\r'));
    if let Some(text) = line.strip_suffix(b"\n").filter(is_plain) {
        let text = std::str::from_utf8(text).map_err(|_| "the line is not UTF-8 text".to_owned())?;
        return Ok(text.split(',').collect::<Vec<_>>().into());
    }
    let mut records =
        csv::ReaderBuilder::new().has_headers(false).flexible(true).from_reader(line).into_records();
    match records.next() {
        Some(Ok(record)) => Ok(record),
        Some(Err(_)) => Err("the line is not UTF-8 text".to_owned()),
        None => Err("the line is empty".to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn row(policy: &str, trial: usize, outcome: Result<Measured, String>) -> TrialRow {
        let id = TrialId { problem: "wheel".to_owned(), policy: policy.to_owned(), trial };
        TrialRow { id, seed: u64::MAX, steps: 500, outcome, version: "0.1.0".to_owned() }
    }

    fn measured(numbers: [f64; 4]) -> Measured {
        let [cumulative_regret, simple_regret, seconds_choosing, seconds_learning] = numbers;
        Measured {
            cumulative_regret,
            simple_regret,
            seconds_choosing,
            seconds_learning,
            cpu_seconds: Some(2.5),
            interventions: Some(7),
        }
    }

    fn whole(rows: Vec<TrialRow>) -> Trials {
        Trials { rows, ..Trials::default() }
    }

    fn parse(bytes: &[u8]) -> Result<Trials, Error> {
        Trials::parse(bytes, Path::new("trials.csv"))
    }

    #[test]
    fn rows_look_as_documented() {
        let rows = vec![
            row("lin-full-post[a=1,b=2]", 3, Ok(measured([12.5, 0.1, 1e-7, 3.0]))),
            row("uniform", 4, Err("said \"no\",\nthen fell".to_owned())),
        ];
        let text = String::from_utf8(whole(rows).to_bytes()).unwrap();
        assert_eq!(
            text,
            "problem,policy,trial,seed,steps,cumulative_regret,simple_regret,seconds_choosing,seconds_learning,\
             cpu_seconds,interventions,version,error\n\
             wheel,\"lin-full-post[a=1,b=2]\",3,18446744073709551615,500,12.5,0.1,1e-7,3.0,2.5,7,0.1.0,\n\
             wheel,uniform,4,18446744073709551615,500,,,,,,,0.1.0,\"said \"\"no\"\", / then fell\"\n"
        );
    }

    #[test]
    fn a_torn_last_line_is_left_out_wherever_it_tears() {
        let rows = vec![
            row("uniform", 0, Ok(measured([1.0; 4]))),
            row("lin-full-post[a=1,b=2]", 0, Err("a \"quoted\", torn".to_owned())),
        ];
        let bytes = whole(rows.clone()).to_bytes();
        let last_line = bytes.len() - rows[1].to_line().len();
        for length in last_line..bytes.len() {
            let read = parse(&bytes[..length]).unwrap();
            assert_eq!(read, Trials { is_torn: length > last_line, ..whole(rows[..1].to_vec()) });
        }
        assert_eq!(parse(&bytes[..20]).unwrap(), Trials { is_torn: true, ..Trials::default() });
        assert_eq!(parse(b"").unwrap(), Trials::default());
    }

    #[test]
    fn damage_before_the_last_line_is_an_error_with_its_line() {
        let good = whole(vec![row("uniform", 0, Ok(measured([1.0; 4])))]).to_bytes();
        let cases: [(&[u8], &str); 11] = [
            (b"wheel,uni\n", "line 3: found 2 fields, expected 13"),
            (b"\n", "line 3: the line is empty"),
            (b"\xFF\n", "line 3: the line is not UTF-8 text"),
            (b"wheel,x,-1,1,500,1,1,1,1,1,0,0.1.0,\n", "line 3: `trial` is `-1`, expected a whole number"),
            (
                b"wheel,x,1,18446744073709551615,500,NaN,1,1,1,1,0,0.1.0,\n",
                "`cumulative_regret` is `NaN`, expected",
            ),
            (b"wheel,x,1,1,500,1,1,1,1,1,-1,0.1.0,\n", "`interventions` is `-1`, expected a whole number"),
            (b"wheel,x,1,1,500,,,,,,3,0.1.0,bad\n", "`interventions` is `3`, expected nothing"),
            (b"wheel,,1,1,500,1,1,1,1,1,0,0.1.0,\n", "`policy` is ``, expected a name"),
            (b"wheel,x,1,1,500,1,1,1,1,1,0,0.1.0,bad\n", "`cumulative_regret` is `1`, expected nothing"),
            (
                b"wheel,x,1,7,500,1,1,1,1,1,0,0.1.0,\n",
                "line 3: seed 7 and 500 steps, but line 2 has seed 1844",
            ),
            (
                b"wheel,uniform,0,18446744073709551615,500,1,1,1,1,1,0,0.1.0,\n",
                "line 3: uniform on wheel, trial 0 is already on line 2",
            ),
        ];
        for (bad, expected) in cases {
            let bytes = [&good, bad, b"wheel,torn"].concat();
            let message = parse(&bytes).unwrap_err().to_string();
            assert!(message.contains(expected), "{message}");
        }
        let message = parse(b"a,b\n").unwrap_err().to_string();
        assert!(message.contains("line 1: expected the header `problem,policy,"), "{message}");
    }

    /// The same rows as an earlier version wrote them, which counted no interventions.
    #[test]
    fn files_without_interventions_can_be_read() {
        let text = "problem,policy,trial,seed,steps,cumulative_regret,simple_regret,seconds_choosing,seconds_learning,\
                    version,error\n\
                    wheel,uniform,3,18446744073709551615,500,1.0,1.0,1.0,1.0,0.1.0,\n\
                    wheel,uniform,4,18446744073709551615,500,,,,,0.1.0,fell\n";
        let uncounted = Measured { cpu_seconds: None, interventions: None, ..measured([1.0; 4]) };
        let rows = vec![row("uniform", 3, Ok(uncounted)), row("uniform", 4, Err("fell".to_owned()))];
        let read = parse(text.as_bytes()).unwrap();
        assert_eq!(read, Trials { is_of_old: true, ..whole(rows.clone()) });
        // The rewritten file has the column, with unknown values.
        assert_eq!(parse(&read.to_bytes()).unwrap(), whole(rows));
        let message = parse(format!("{text}wheel,uniform,5,0\n").as_bytes()).unwrap_err().to_string();
        assert!(message.contains("line 4: found 4 fields, expected 11"), "{message}");
    }

    /// The same with interventions, before CPU seconds were measured: the seconds stay wall-clock seconds.
    #[test]
    fn files_without_cpu_seconds_can_be_read() {
        let text = "problem,policy,trial,seed,steps,cumulative_regret,simple_regret,seconds_choosing,seconds_learning,\
                    interventions,version,error\n\
                    wheel,uniform,3,18446744073709551615,500,1.0,1.0,1.0,1.0,7,0.1.0,\n\
                    wheel,uniform,4,18446744073709551615,500,,,,,,0.1.0,fell\n";
        let unmeasured = Measured { cpu_seconds: None, ..measured([1.0; 4]) };
        let rows = vec![row("uniform", 3, Ok(unmeasured)), row("uniform", 4, Err("fell".to_owned()))];
        let read = parse(text.as_bytes()).unwrap();
        assert_eq!(read, Trials { is_of_old: true, ..whole(rows.clone()) });
        assert_eq!(parse(&read.to_bytes()).unwrap(), whole(rows));
    }

    #[test]
    fn rows_around_damage_can_be_read() {
        let out = tempfile::tempdir().unwrap();
        let rows = [0, 1].map(|trial| row("uniform", trial, Ok(measured([1.0; 4]))));
        let [first, second] = [&rows[..1], &rows[1..]].map(|rows| rows[0].to_line());
        let bytes = [&line(&COLUMNS), &first, &b"wheel,uni\n"[..], &second, b"wheel,torn"].concat();
        fs::write(out.path().join(TRIALS_FILE), bytes).unwrap();
        let (read, damages) = read_readable_trials(out.path()).unwrap();
        assert_eq!(read, rows);
        let messages: Vec<String> = damages.iter().map(Error::to_string).collect();
        assert!(messages.len() == 1 && messages[0].contains("line 3: found 2 fields"), "{messages:?}");
        assert!(read_trials(out.path()).is_err());
    }

    proptest! {
        #[test]
        fn every_row_reads_back_exactly(
            problem in "[^\r\n\u{feff}]{1,8}", policy in "[^\r\n\u{feff}]{1,20}", trial: usize, seed: u64, steps: usize,
            numbers in prop::array::uniform4(
                any::<f64>().prop_filter("finite", |number| number.is_finite())
            ),
            interventions in prop::option::of(any::<u64>()), cpu_seconds in prop::option::of(0.0..1e9_f64),
            error in prop::option::of("[ -~]{1,20}".prop_map(|text| format!("a{text}z"))),
        ) {
            let outcome = error.map_or(Ok(Measured { cpu_seconds, interventions, ..measured(numbers) }), Err);
            let id = TrialId { problem, policy, trial };
            let row = TrialRow { id, seed, steps, outcome, version: "0.1.0".to_owned() };
            let trials = whole(vec![row]);
            prop_assert_eq!(parse(&trials.to_bytes()).unwrap(), trials);
        }

        #[test]
        fn no_bytes_panic(bytes in prop::collection::vec(any::<u8>(), 0..200), header: bool) {
            let header = if header { line(&COLUMNS) } else { Vec::new() };
            let _ = parse(&[header, bytes].concat());
        }
    }
}
