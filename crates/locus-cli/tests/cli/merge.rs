//! `locus merge`: folders of shards and other runs as one.

use std::collections::BTreeMap;
use std::fs::{self, OpenOptions};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::thread;
use std::time::Duration;

use crate::failing::FAILING;
use crate::harness::{Desk, id, wait_for_first_row};

/// Every file below a folder with its bytes, but for the lock.
fn files(folder: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
    let mut files = BTreeMap::new();
    for entry in fs::read_dir(folder).unwrap().map(Result::unwrap) {
        if entry.file_type().unwrap().is_dir() {
            files.extend(self::files(&entry.path()));
        } else if entry.file_name() != ".lock" {
            files.insert(entry.path(), fs::read(entry.path()).unwrap());
        }
    }
    files
}

fn copy(desk: &Desk, from: &str, to: &str) {
    for (path, bytes) in files(&desk.path(from)) {
        let name = path.strip_prefix(desk.path(from)).unwrap();
        desk.write(&format!("{to}/{}", name.display()), bytes);
    }
}

/// Eight trials as one run in `whole`, and as three shards in `s1`, `s2` and `s3`.
fn shards() -> Desk {
    let desk = Desk::new();
    desk.tiny_bench("--problems linear,wheel --out whole --jobs 1").ok();
    for number in 1..=3 {
        desk.tiny_bench(&format!("--problems linear,wheel --shard {number}/3 --out s{number} --jobs 1")).ok();
    }
    desk
}

/// Replaces text in a file, which must have it.
fn edit(desk: &Desk, file: &str, from: &str, to: &str) {
    let text = desk.read(file);
    assert!(text.contains(from), "{file} has no {from}: {text}");
    desk.write(file, text.replacen(from, to, 1));
}

#[test]
fn shards_together_are_the_run_of_one_machine() {
    let desk = shards();
    let sources = ["s1", "s2", "s3"].map(|shard| files(&desk.path(shard)));
    let said = desk.locus(["merge", "out", "s1", "s2"]).ok();
    assert_eq!(
        said.stdout,
        "out: 6 trials added, 0 already there\n6 of 6 trials done; nothing is missing\n\
         not among the merged folders: shard 3 of 3\n\
         `locus table out` shows the results, `locus report out` writes the report\n"
    );
    let said = desk.locus(["merge", "out", "s1", "s2", "s3"]).ok();
    assert!(
        said.stdout
            .starts_with("out: 2 trials added, 6 already there\n8 of 8 trials done; nothing is missing\n`")
    );
    assert_eq!(said.stderr, "");
    assert!(desk.results("out") == desk.results("whole"));
    let table = |out: &str| desk.locus(["table", out, "--format", "csv"]).ok().stdout;
    assert_eq!(table("out"), table("whole"));
    let status = desk.locus(["status", "out"]).ok().stdout;
    assert!(status.contains("8 of 8 trials done; ") && status.contains("nothing left to run"), "{status}");
    assert_eq!(["s1", "s2", "s3"].map(|shard| files(&desk.path(shard))), sources, "shards are only read");

    // Again, in any order, from itself: not a byte changes.
    let before = files(&desk.path("out"));
    for folders in [&["s1", "s2", "s3"][..], &["s3", "s1"], &["out", "./s2", "s2"]] {
        let said = desk.locus(["merge", "out"].iter().chain(folders)).ok();
        assert!(said.stdout.starts_with("out: 0 trials added, "), "{}", said.stdout);
        assert_eq!(files(&desk.path("out")), before);
    }
    // A new folder from the merged one, and a run that goes on in it.
    desk.locus(["merge", "new/all", "out"]).ok();
    assert_eq!(desk.read("new/all/trials.csv"), desk.read("out/trials.csv"));
    let said = desk.tiny_bench("--problems linear,wheel --out new/all").ok();
    assert!(said.stdout.contains("nothing left to run: 8 trials done before"), "{}", said.stdout);
}

#[test]
fn what_is_missing_is_said_kind_by_kind() {
    let desk = shards();
    // Line 2 is the first trial that shard 1 ended.
    let text = desk.read("s1/trials.csv");
    let lines: Vec<&str> = text.lines().collect();
    desk.write("s1/trials.csv", [&lines[..1], &lines[2..], &[""]].concat().join("\n"));
    let missing = &desk
        .rows("whole")
        .into_iter()
        .find(|row| lines[1].starts_with(&format!("{},{},", row.id.problem, row.id.policy)))
        .unwrap()
        .id;
    let said = desk.locus(["merge", "out", "s1", "s2", "s3"]).ok();
    let expected = format!(
        "7 of 8 trials done; missing:\n  {} on {}: 1 of 2\n`locus table",
        missing.policy, missing.problem
    );
    assert!(said.stdout.contains(&expected), "{}", said.stdout);
    let status = desk.locus(["status", "out"]).ok().stdout;
    assert!(status.contains("7 of 8 trials done; "), "{status}");
}

#[test]
fn a_finished_run_gains_other_policies_and_problems() {
    let desk = Desk::new();
    desk.tiny_bench("--problems linear --out out").ok();
    desk.tiny_bench("--problems wheel --policies lin-ucb --out other").ok();
    let before = desk.read("out/trials.csv");
    let said = desk.locus(["merge", "out", "other"]).ok();
    assert!(
        said.stdout.starts_with("out: 4 trials added, 0 already there\n8 of 8 trials done; nothing"),
        "{}",
        said.stdout
    );
    assert!(desk.read("out/trials.csv").starts_with(&before));
    assert!(desk.read("out/summary.md").contains("lin-ucb"));
}

#[test]
fn folders_that_do_not_belong_together_are_refused_with_the_difference() {
    let desk = shards();
    copy(&desk, "s2", "damaged");
    let before = files(&desk.path(""));
    let refused = |desk: &Desk, expected: &[&str]| {
        desk.locus(["merge", "out", "s1", "damaged"]).refused(expected);
        assert!(!desk.path("out").exists(), "a refused merge created its folder");
        desk.locus(["merge", "s1", "s3", "damaged"]).refused(expected);
        for (path, bytes) in before.iter().filter(|(path, _)| !path.starts_with(desk.path("damaged"))) {
            assert_eq!(&fs::read(path).unwrap(), bytes, "a refused merge changed `{}`", path.display());
        }
    };
    let checksum = desk.read("s2/run.json");
    let checksum = checksum.lines().find(|line| line.contains("first_trial_sha256")).unwrap().to_owned();
    let other_checksum = format!("      \"first_trial_sha256\": \"{}\",", "0".repeat(64));
    for (from, to, expected) in [
        (&*checksum, &*other_checksum, "`s1` holds trials with `linear` rounds of checksum "),
        ("\"n_actions\": ", "\"n_actions\": 1", "`s1` holds trials with `linear` of features × actions "),
        ("prior_precision=0.25", "prior_precision=2", "`s1` holds trials with `lin-full-post` meaning "),
        (
            "\"files\": []",
            "\"files\": [{\"name\": \"x\", \"sha256\": \"12\"}]",
            "`linear` data of checksum none, but `damaged` with 12",
        ),
    ] {
        edit(&desk, "damaged/run.json", from.trim_end_matches(','), to.trim_end_matches(','));
        refused(&desk, &[expected, "but `damaged` with ", "nothing was changed"]);
        copy(&desk, "s2", "damaged");
    }
    for (words, expected) in [
        ("--seed 9", "`s1` holds trials with seed 0, but `damaged` with 9; only folders of the same seed, "),
        ("--steps 61", "`s1` holds trials with steps 60, but `damaged` with 61; "),
        ("--propensities", "`s1` holds trials with propensities off, but `damaged` with on; "),
    ] {
        fs::remove_dir_all(desk.path("damaged")).unwrap();
        let steps = if words.contains("steps") { "" } else { "--steps 60" };
        let words = format!("bench --trials 1 {steps} --problems linear --out damaged {words}");
        desk.locus(words.split_whitespace()).ok();
        refused(&desk, &[expected]);
    }
    // The folder that differs is named, not the first.
    desk.locus(["merge", "out", "damaged", "s1", "s2"])
        .refused(&["`damaged` holds trials with ", " `s1` with "]);
}

#[test]
fn equal_trials_are_kept_once_from_the_first_folder() {
    let desk = shards();
    copy(&desk, "s1", "slow");
    let line = desk.read("slow/trials.csv").lines().nth(1).unwrap().to_owned();
    let fields: Vec<&str> = line.split(',').collect();
    let mut slower = fields.clone();
    (slower[7], slower[8]) = ("123.0", "456.0");
    edit(&desk, "slow/trials.csv", &line, &slower.join(","));
    for (first, second, expected) in [("slow", "s1", "123.0"), ("s1", "slow", fields[7])] {
        let out = format!("from-{first}");
        let said = desk.locus(["merge", &out, first, second]).ok();
        assert!(
            said.stdout.starts_with(&format!("{out}: 3 trials added, 3 already there\n")),
            "{}",
            said.stdout
        );
        assert_eq!(
            desk.read(&format!("{out}/trials.csv")).lines().nth(1).unwrap().split(',').nth(7),
            Some(expected)
        );
        let before = files(&desk.path(&out));
        desk.locus(["merge", &out, second, first]).ok();
        assert_eq!(files(&desk.path(&out)), before);
    }
}

#[test]
fn different_results_of_a_trial_are_listed_and_nothing_is_merged() {
    let desk = shards();
    desk.locus(["merge", "out", "s1", "s2"]).ok();
    copy(&desk, "s1", "other");
    let before = files(&desk.path("out"));
    let row = desk.rows("s1").remove(0);
    let measured = row.outcome.unwrap();
    let (regret, changed) =
        (format!("{:?}", measured.cumulative_regret), format!("{:?}", measured.cumulative_regret + 1.0));
    edit(&desk, "other/trials.csv", &regret, &changed);
    let said = desk.locus(["merge", "out", "s3", "other"]);
    let line = format!("{}: cumulative regret {regret} and {changed}, simple regret ", row.id);
    said.refused(&[
        "different results of the same trials, 1 in all; nothing was changed",
        &line,
        " in `out` and `other`",
    ]);
    assert_eq!(files(&desk.path("out")), before);
    // Curves that differ in one byte.
    copy(&desk, "s1", "other");
    let curve = fs::read_dir(desk.path("other/curves")).unwrap().next().unwrap().unwrap().path();
    let mut bytes = fs::read(&curve).unwrap();
    *bytes.last_mut().unwrap() ^= 1;
    fs::write(&curve, bytes).unwrap();
    desk.locus(["merge", "new", "s1", "other"])
        .refused(&["1 in all", "equal regrets in trials.csv, but different curves in `s1` and `other`"]);
    desk.locus(["merge", "out", "other"]).refused(&["different curves in `out` and `other`"]);
    assert!(!desk.path("new").exists() && files(&desk.path("out")) == before);
}

#[test]
fn a_success_replaces_a_failure() {
    let desk = shards();
    copy(&desk, "s1", "failed");
    let line = desk.read("failed/trials.csv").lines().nth(1).unwrap().to_owned();
    let fields: Vec<&str> = line.split(',').collect();
    let failure = format!("{},,,,,,,{},out of luck", fields[..5].join(","), fields[11]);
    edit(&desk, "failed/trials.csv", &line, &failure);
    let said = desk.locus(["merge", "out", "failed", "s2", "s3"]).ok();
    assert!(said.stdout.contains("7 of 8 trials done, 1 failed; missing:\n"), "{}", said.stdout);
    let said = desk.locus(["merge", "out", "s1", "failed"]).ok();
    assert!(
        said.stdout.starts_with(
            "out: 0 trials added, 5 already there, 1 failed trial replaced\n8 of 8 trials done; nothing"
        ),
        "{}",
        said.stdout
    );
    assert!(desk.results("out") == desk.results("whole"));
    // A failure does not replace a success.
    let before = files(&desk.path("out"));
    desk.locus(["merge", "out", "failed"]).ok();
    assert_eq!(files(&desk.path("out")), before);
}

/// The rows of a folder without curves are merged, and another folder that has the same trials gives the curves.
#[test]
fn curves_may_come_later() {
    let desk = shards();
    desk.locus(["merge", "whole-2", "s1", "s2", "s3"]).ok();
    copy(&desk, "s1", "rows-only");
    fs::remove_dir_all(desk.path("rows-only/curves")).unwrap();
    let said = desk.locus(["merge", "out", "rows-only"]).ok();
    assert_eq!((said.stderr.as_str(), desk.path("out/curves").exists()), ("", false));
    desk.locus(["merge", "out", "s1", "s2", "s3"]).ok();
    assert!(desk.results("out") == desk.results("whole"));
    // Where only some are gone, that is said.
    copy(&desk, "s1", "torn");
    let curve = fs::read_dir(desk.path("torn/curves")).unwrap().next().unwrap().unwrap().path();
    fs::remove_file(curve).unwrap();
    let said = desk.locus(["merge", "new", "torn"]).ok();
    assert!(
        said.stderr
            .starts_with("warning: `torn` lacks the curves of 1 of its trials, the first of which is "),
        "{}",
        said.stderr
    );
}

#[test]
fn rows_of_other_builds_and_processors_are_merged_with_a_warning() {
    let desk = shards();
    copy(&desk, "s1", "other");
    let row = desk.rows("s1").remove(0);
    desk.write(
        "other/trials.csv",
        desk.read("s1/trials.csv").replace(&format!(",{},", row.version), ",0.0.9,"),
    );
    let machine = desk.read("s1/run.json");
    if machine.contains("\"instructions\": \"") {
        let line = machine.lines().find(|line| line.contains("\"instructions\": ")).unwrap();
        edit(&desk, "other/run.json", line, "        \"instructions\": \"abacus\"");
    }
    let said = desk.locus(["merge", "out", "other", "s2"]).ok();
    let builds = format!(
        "warning: trials of several builds, whose results may differ: 3 of 0.0.9, 3 of {}\n",
        row.version
    );
    assert!(said.stderr.contains(&builds), "{}", said.stderr);
    if machine.contains("\"instructions\": \"") {
        assert!(
            said.stderr.contains("several kinds of processor (") && said.stderr.contains("with abacus"),
            "{}",
            said.stderr
        );
    }
}

#[test]
fn folders_that_are_damaged_or_no_runs_are_refused() {
    let desk = shards();
    desk.locus(["merge", "out", "s1", "nowhere"]).refused(&["there is no folder `nowhere`"]);
    fs::create_dir(desk.path("empty")).unwrap();
    desk.locus(["merge", "out", "s1", "empty"]).refused(&["`empty` holds no trials.csv"]);
    desk.locus(["merge", "out"]).refused(&["<FOLDER>"]);
    copy(&desk, "s1", "bare");
    fs::remove_file(desk.path("bare/run.json")).unwrap();
    desk.locus(["merge", "out", "bare"]).refused(&["bare/run.json`: missing, but trials exist"]);
    copy(&desk, "s1", "damaged");
    desk.write("damaged/trials.csv", desk.read("s1/trials.csv") + "linear,what\n");
    desk.locus(["merge", "out", "s2", "damaged"])
        .refused(&["damaged/trials.csv`, line 5: found 2 fields, expected 13"]);
    copy(&desk, "s1", "mixed");
    edit(&desk, "mixed/run.json", "\"seed\": 0", "\"seed\": 1");
    desk.locus(["merge", "out", "mixed"])
        .refused(&["mixed/run.json`: says seed 1 and 60 steps, but trials.csv has seed 0"]);
    assert!(!desk.path("out").exists());
    // A row that is being written does no harm.
    copy(&desk, "s1", "torn");
    desk.write("torn/trials.csv", desk.read("s1/trials.csv") + "linear,wh");
    let said = desk.locus(["merge", "out", "torn"]).ok();
    assert_eq!(said.stderr, "warning: the last row of `torn` was cut short; its trial is missing\n");
    assert_eq!(desk.rows("out").len(), 3);
    // A shard of which no trial has ended yet.
    copy(&desk, "s2", "begun");
    fs::remove_file(desk.path("begun/trials.csv")).unwrap();
    let said = desk.locus(["merge", "out", "begun"]).ok();
    assert!(said.stdout.contains("3 of 6 trials done; missing:\n"), "{}", said.stdout);
}

/// The trials of a policy that fails are merged as failures.
#[test]
fn failures_are_merged_too() {
    let desk = Desk::new();
    let said = desk.tiny_bench(&format!("--problems linear --policies {FAILING} --out failing"));
    assert_eq!(said.code, Some(1), "{said:?}");
    let said = desk.locus(["merge", "out", "failing"]).ok();
    assert!(said.stdout.contains("2 of 4 trials done, 2 failed; missing:\n"), "{}", said.stdout);
    assert_eq!(desk.read("out/trials.csv"), desk.read("failing/trials.csv"));
}

const LONG: &str = "bench --problems linear --policies lin-full-post --trials 5000 --steps 2000 --jobs 2";

#[test]
fn a_folder_with_a_running_process_is_read_but_not_written() {
    let desk = Desk::new();
    let words = format!("{LONG} --out running");
    let mut running = desk.command(words.split_whitespace());
    let mut running = running.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    wait_for_first_row(&mut running, &desk.path("running"));
    let read = desk.locus(["merge", "out", "running"]);
    let written = desk.locus(["merge", "running", "out"]);
    assert!(running.try_wait().unwrap().is_none(), "the run has ended, which proves nothing");
    running.kill().unwrap();
    running.wait().unwrap();
    written.refused(&["another process is running trials in `running`"]);
    let read = read.ok();
    if cfg!(target_os = "linux") {
        assert!(
            read.stderr.contains("warning: a process is running trials in `running`; merge it again"),
            "{}",
            read.stderr
        );
    }
    assert!(desk.rows("running").iter().any(|row| row.id == id("uniform", "linear", 0)));
    desk.locus(["merge", "out", "running"]).ok();
    assert_eq!(desk.rows("out").len(), desk.rows("running").len());
}

/// Kills a merge when it reads a certain array: a pipe in its place tells when the process is there, and holds it.
#[cfg(target_os = "linux")]
fn killed_at_array(merge: &mut Command, array: &Path) {
    use std::os::unix::fs::OpenOptionsExt;

    /// Opening a pipe that nobody reads fails, instead of waiting for a process that may have ended.
    const O_NONBLOCK: i32 = 0o4000;
    let bytes = fs::read(array).unwrap();
    fs::remove_file(array).unwrap();
    assert!(Command::new("mkfifo").arg(array).status().unwrap().success());
    let mut child = merge.spawn().unwrap();
    let _held = loop {
        match OpenOptions::new().write(true).custom_flags(O_NONBLOCK).open(array) {
            Ok(pipe) => break pipe,
            Err(_) => {
                assert!(child.try_wait().unwrap().is_none(), "the merge ended before it read the array")
            }
        }
        thread::sleep(Duration::from_millis(1));
    };
    child.kill().unwrap();
    assert!(!child.wait().unwrap().success());
    fs::remove_file(array).unwrap();
    fs::write(array, bytes).unwrap();
}

/// Kills a merge when a file of its folder appears, or lets it end if it is faster.
#[cfg(target_os = "linux")]
fn killed_at_file(merge: &mut Command, file: &Path) {
    let mut child = merge.spawn().unwrap();
    while child.try_wait().unwrap().is_none() {
        if file.exists() {
            let _ = child.kill();
        }
    }
}

/// The real process is killed at seeded arrays, and as files appear; after each time the folder is a run of which nothing was lost. The
/// same merge, repeated until it comes to its end, leaves what an uninterrupted one leaves.
#[cfg(target_os = "linux")]
#[test]
fn a_merge_that_is_killed_at_any_moment_loses_nothing() {
    const SHARDS: [&str; 3] = ["s1", "s2", "s3"];
    let desk = Desk::new();
    let bench = |words: &str| {
        let words =
            format!("bench --problems linear --policies lin-full-post --trials 90 --steps 100 {words}");
        desk.locus(words.split_whitespace()).ok();
    };
    for (place, shard) in SHARDS.iter().enumerate() {
        bench(&format!("--shard {}/3 --out {shard}", place + 1));
    }
    // Half of the rounds begin with a folder that holds a part of the run already.
    bench("--shard 2/5 --out part");
    let merge = |out: &str| desk.locus(["merge", out].iter().chain(&SHARDS)).ok();
    copy(&desk, "part", "whole-of-part");
    merge("whole");
    merge("whole-of-part");
    let with_names = |out: &str| {
        let names = |path: &PathBuf| path.strip_prefix(desk.path(out)).unwrap().to_owned();
        files(&desk.path(out))
            .iter()
            .map(|(path, bytes)| (names(path), bytes.clone()))
            .collect::<BTreeMap<_, _>>()
    };
    let expected = [with_names("whole"), with_names("whole-of-part")];
    let mut rng = locus::Seed::new(22).stream("moments", 0);
    for round in 0..12 {
        let out = format!("out-{round}");
        let has_part = round % 2 == 1;
        if has_part {
            copy(&desk, "part", &out);
        }
        let rows_before = if has_part { desk.rows(&out) } else { Vec::new() };
        for attempt in 0..3 {
            let mut merge = desk.command(["merge", &out].iter().chain(&SHARDS));
            merge.stdout(Stdio::null()).stderr(Stdio::null());
            match attempt {
                2 => {
                    let file =
                        ["run.json.tmp", "trials.csv.tmp", "trials.csv", "summary.md.tmp"][rng.below(4)];
                    killed_at_file(&mut merge, &desk.path(&out).join(file));
                }
                _ => {
                    let shard = SHARDS[rng.below(SHARDS.len())];
                    let arrays = files(&desk.path(shard).join("curves"));
                    let (array, _) = arrays.iter().nth(rng.below(arrays.len())).unwrap();
                    killed_at_array(&mut merge, array);
                }
            }
            // What was there is there; and what has a row has its curves, which `results` reads.
            if desk.path(&out).join("trials.csv").exists() {
                let rows = desk.rows(&out);
                assert!(rows.starts_with(&rows_before), "rows were lost in round {round}");
                assert_eq!(desk.results(&out).len(), rows.len());
            } else {
                assert!(!has_part, "the rows were lost in round {round}");
            }
        }
        merge(&out);
        assert!(with_names(&out) == expected[usize::from(has_part)], "round {round} came to another end");
    }
}
