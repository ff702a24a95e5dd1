//! The progress of a running or interrupted run, read from its folder.
//!
//! It writes nothing, takes no lock, and works at any time: files are replaced atomically, and an incomplete row is ignored.

use std::fs;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use locus::{PolicySpec, Registry};

use crate::Error;
use crate::error::ErrorKind;
use crate::experiment::{Standing, UNIFORM};
use crate::record::{
    PartRecord, RunFile, Session, TRIALS_FILE, TrialRow, Worker, read_readable_trials, read_run, worker,
};
use crate::suite::{CENSUS, CENSUS_PART, Suite};

/// The status of a run.
#[derive(Clone, Debug, PartialEq)]
pub struct Status {
    /// The folder.
    pub out: PathBuf,
    /// Its progress.
    pub standing: Standing,
    /// Whether the requested trials are known; if not, the recorded trials count as all.
    pub is_total_known: bool,
    /// Whether its trials run with propensities.
    pub propensities: bool,
    /// Which process is running it now.
    pub worker: Worker,
    /// When a trial was last recorded, by the file's date.
    pub last_recorded: Option<SystemTime>,
    /// Warnings about what could not be read.
    pub warnings: Vec<String>,
}

/// Reads the progress of the run in the folder `out`.
///
/// Problems with parts of the folder become warnings; fails if the trials cannot be read at all.
pub fn read_status(out: &Path) -> Result<Status, Error> {
    let mut warnings = Vec::new();
    let run = match read_run(out) {
        Ok(Some(run)) => Some(run),
        Ok(None) => {
            warnings.push(format!("`{}` holds no run.json: the requested trials are unknown", out.display()));
            None
        }
        Err(error) => {
            warnings.push(format!("{error}: the requested trials are unknown"));
            None
        }
    };
    let rows = match read_readable_trials(out) {
        Ok((rows, damages)) => {
            warnings.extend(damages.iter().map(Error::to_string));
            rows
        }
        // A run that has just begun.
        Err(error) if run.is_some() && matches!(error.kind(), ErrorKind::NoTrials { .. }) => Vec::new(),
        Err(error) => return Err(error),
    };
    let mut standing = match &run {
        Some(run) => asked_for(run),
        None => all_of(&rows),
    };
    standing.record_all(&rows);
    let n_unnamed = rows.iter().filter(|row| !standing.names(&row.id)).count();
    if n_unnamed > 0 {
        warnings
            .push(format!("not shown: {n_unnamed} of the rows, whose policy or problem is not in run.json"));
    }
    let last_recorded = match rows.is_empty() {
        true => None,
        false => fs::metadata(out.join(TRIALS_FILE)).and_then(|file| file.modified()).ok(),
    };
    Ok(Status {
        out: out.to_owned(),
        standing,
        is_total_known: run.is_some(),
        propensities: run.is_some_and(|run| run.propensities),
        worker: worker(out),
        last_recorded,
        warnings,
    })
}

/// The requested trials of all sessions of a folder, with none of them run yet.
pub(crate) fn asked_for(run: &RunFile) -> Standing {
    let policies: Vec<String> = run.policies.iter().map(|record| record.policy.clone()).collect();
    let problems: Vec<(String, usize)> =
        run.problems.iter().map(|record| (record.name.clone(), record.n_features)).collect();
    let sessions: Vec<Asked> = run.sessions.iter().map(Asked::of).collect();
    let asked = |policy: usize, problem: usize| {
        let (policy, problem) = (&run.policies[policy].policy, &run.problems[problem].name);
        let asking = sessions.iter().filter(|session| session.names(policy, problem));
        asking.flat_map(|session| session.numbers(policy, problem)).collect()
    };
    let jobs = run.sessions.last().map_or(1, |session| session.jobs);
    Standing::new(policies, problems, run.steps, jobs, asked)
}

/// The requested trials of one session; `None` is everything.
struct Asked {
    policies: Option<Vec<String>>,
    problems: Option<Vec<String>>,
    /// Their numbers.
    trials: Range<usize>,
    part: Option<PartRecord>,
}

impl Asked {
    /// Earlier versions recorded only the command, from which most of it follows.
    fn of(session: &Session) -> Self {
        let trials = session.first_trial..session.first_trial.saturating_add(session.trials);
        if !session.policies.is_empty() {
            let (policies, problems) = (session.policies.clone(), session.problems.clone());
            return Self {
                policies: Some(policies),
                problems: Some(problems),
                trials,
                part: session.part.clone(),
            };
        }
        let registry = Registry::standard();
        let suite = Suite::load(&session.suite, &registry).ok();
        let names = |specs: &[PolicySpec]| specs.iter().map(ToString::to_string).collect::<Vec<_>>();
        let policies = match argument(&session.command, "--policies") {
            Some(list) => registry.parse_list(list).ok().map(|specs| names(&specs)),
            None => suite.as_ref().map(|suite| names(&suite.policies)),
        };
        let has_own_files = ["--csv", "--npz"].iter().any(|flag| argument(&session.command, flag).is_some());
        let problems = match argument(&session.command, "--problems") {
            _ if has_own_files => None,
            Some(list) => Some(list.split(',').map(|name| name.trim().to_owned()).collect()),
            None => {
                suite.filter(|suite| suite.csv.is_empty() && suite.npz.is_empty()).map(|suite| suite.problems)
            }
        };
        Self { policies, problems, trials, part: None }
    }

    /// The requested trials of a policy on a problem that it names.
    fn numbers(&self, policy: &str, problem: &str) -> Vec<Range<usize>> {
        let place = |names: &Option<Vec<String>>, name: &str| {
            let names = names.as_ref()?;
            Some((names.iter().position(|other| other == name)?, names.len()))
        };
        match (&self.part, place(&self.policies, policy), place(&self.problems, problem)) {
            (Some(part), Some((policy_place, n_policies)), Some((problem_place, n_problems))) => {
                let kind = problem_place * n_policies + policy_place;
                part.numbers(
                    (policy, problem),
                    (kind, n_problems.saturating_mul(n_policies)),
                    self.trials.clone(),
                )
            }
            _ => vec![self.trials.clone()],
        }
    }

    fn names(&self, policy: &str, problem: &str) -> bool {
        let holds = |list: &Option<Vec<String>>, name: &str| {
            list.as_ref().is_none_or(|names| names.iter().any(|other| other == name))
        };
        // Uniform always runs, and a part of the census stands in for all of it.
        (policy == UNIFORM || holds(&self.policies, policy))
            && (holds(&self.problems, problem) || problem == CENSUS_PART && holds(&self.problems, CENSUS))
    }
}

/// The value of a flag, written `--flag value` or `--flag=value`.
fn argument<'a>(command: &'a [String], flag: &str) -> Option<&'a str> {
    command.iter().enumerate().find_map(|(place, word)| match word.strip_prefix(flag)? {
        "" => command.get(place + 1).map(String::as_str),
        rest => rest.strip_prefix('='),
    })
}

/// The recorded trials, if the requested ones are unknown.
fn all_of(rows: &[TrialRow]) -> Standing {
    let mut policies: Vec<String> = Vec::new();
    let mut problems: Vec<(String, usize)> = Vec::new();
    for TrialRow { id, .. } in rows {
        if !policies.contains(&id.policy) {
            policies.push(id.policy.clone());
        }
        if !problems.iter().any(|(name, _)| *name == id.problem) {
            problems.push((id.problem.clone(), 0));
        }
    }
    let steps = rows.first().map_or(1, |row| row.steps);
    let recorded: Vec<Vec<Vec<Range<usize>>>> = policies
        .iter()
        .map(|policy| {
            let n_of = |problem: &(String, usize)| {
                let rows = rows.iter().filter(|row| row.id.policy == *policy && row.id.problem == problem.0);
                rows.map(|row| row.id.trial..row.id.trial.saturating_add(1)).collect()
            };
            problems.iter().map(n_of).collect()
        })
        .collect();
    Standing::new(policies, problems, steps, 1, |policy, problem| recorded[policy][problem].clone())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::{Machine, PolicyRecord, ProblemRecord, RUN_FILE};

    fn session(command: &str, trials: usize) -> Session {
        Session {
            version: "0.1.0".to_owned(),
            suite: "paper".to_owned(),
            command: command.split(' ').map(str::to_owned).collect(),
            policies: Vec::new(),
            problems: Vec::new(),
            trials,
            first_trial: 0,
            part: None,
            jobs: 3,
            machine: Machine::here(),
        }
    }

    fn run(policies: &[&str], problems: &[&str], sessions: Vec<Session>) -> RunFile {
        let mut run = RunFile::new(0, 2000, false);
        run.policies = policies
            .iter()
            .map(|name| PolicyRecord { policy: (*name).to_owned(), settings: String::new() })
            .collect();
        let problem = |name: &&str| ProblemRecord {
            name: (*name).to_owned(),
            n_features: 2,
            n_actions: 3,
            n_action_features: 0,
            files: Vec::new(),
            first_trial_sha256: String::new(),
            schema: None,
        };
        run.problems = problems.iter().map(problem).collect();
        run.sessions = sessions;
        run
    }

    /// Trials asked for, the problems of a policy side by side.
    fn asked(run: &RunFile) -> Vec<Vec<usize>> {
        let standing = asked_for(run);
        let of = |policy: usize| {
            (0..run.problems.len()).map(|problem| standing.kind(policy, problem).asked).collect()
        };
        (0..run.policies.len()).map(of).collect()
    }

    /// Sessions that say what they asked for: the most that was asked of a kind counts, whenever that was.
    #[test]
    fn sessions_add_up() {
        let mut first = session("locus bench", 50);
        (first.policies, first.problems) =
            (vec!["bbb".to_owned()], vec!["wheel".to_owned(), "adult".to_owned()]);
        let mut second = session("locus bench", 20);
        (second.policies, second.problems) = (vec!["lu-sivi".to_owned()], vec!["wheel".to_owned()]);
        let run = run(&["uniform", "bbb", "lu-sivi"], &["wheel", "adult"], vec![first, second]);
        assert_eq!(asked(&run), [[50, 50], [50, 50], [20, 0]]);
    }

    /// Sessions of earlier versions say it by their command alone.
    #[test]
    fn earlier_sessions_are_told_by_their_commands() {
        let sessions = vec![
            session("locus bench --suite paper --policies uniform,lu-gauss --data x", 50),
            session(
                "locus bench --problems=wheel,linear --policies lu-sivi,lu-sivi[minibatches=4] --trials 20",
                20,
            ),
        ];
        let policies = ["uniform", "lu-gauss", "lu-sivi", "lu-sivi[minibatches=4]"];
        let run = run(&policies, &["wheel", "census-10k", "linear"], sessions);
        assert_eq!(asked(&run), [[50, 50, 20], [50, 50, 0], [20, 0, 20], [20, 0, 20]]);
        // What the suite names, where the command does not; and everything, where that cannot be known.
        let of_suite = super::tests::run(
            &["uniform", "bbb", "bbb[layers=3]"],
            &["wheel", "linear"],
            vec![session("locus bench", 7)],
        );
        assert_eq!(asked(&of_suite), [[7, 0], [7, 0], [0, 0]]);
        let mut unknown = session("locus bench --csv mine.csv --label x", 7);
        unknown.suite = "gone.toml".to_owned();
        let unknown = super::tests::run(&["uniform", "bbb"], &["wheel", "mine"], vec![unknown]);
        assert_eq!(asked(&unknown), [[7, 7], [7, 7]]);
    }

    /// Numbers that no run would write do no harm.
    #[test]
    fn absurd_numbers_are_taken_as_they_are() {
        let out = tempfile::tempdir().unwrap();
        let mut run = run(&["uniform", "bbb"], &["wheel"], vec![session("locus bench", usize::MAX)]);
        (run.steps, run.sessions[0].jobs, run.problems[0].n_features) = (0, 0, usize::MAX);
        fs::write(out.path().join(RUN_FILE), run.to_json()).unwrap();
        let status = read_status(out.path()).unwrap();
        assert_eq!(status.standing.total().asked, usize::MAX);
        assert_eq!(status.standing.wall_seconds_left(), None);
        fs::remove_file(out.path().join(RUN_FILE)).unwrap();
        let row = format!("wheel,bbb,{},0,0,1,1,1,1,,,x,\n", usize::MAX);
        fs::write(out.path().join(TRIALS_FILE), crate::record::COLUMNS.join(",") + "\n" + &row).unwrap();
        let status = read_status(out.path()).unwrap();
        assert!(!status.is_total_known && status.warnings.len() == 1);
        assert_eq!(status.standing.policies(), ["bbb"]);
    }

    #[test]
    fn flags_are_found_however_they_are_written() {
        let words = ["locus", "bench", "--trials=3", "--out", "x", "--steps"].map(str::to_owned);
        assert_eq!(argument(&words, "--trials"), Some("3"));
        assert_eq!(argument(&words, "--out"), Some("x"));
        assert_eq!(
            [argument(&words, "--steps"), argument(&words, "--seed"), argument(&words, "--tri")],
            [None; 3]
        );
    }
}
