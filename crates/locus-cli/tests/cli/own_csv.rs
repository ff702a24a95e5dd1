//! `--csv FILE --label COLUMN`: anybody's own table as a problem.

use std::io::Write;

use flate2::{Compression, write::GzEncoder};
use locus_bench::record::{ProblemRecord, read_run};

use crate::harness::{Desk, Said, TINY, id};

/// 80 rows, of which four miss a value, with numbers, words, and cells that need their quotes. The label is the
/// kind of the color, so a linear policy learns it quickly.
fn table() -> String {
    let mut text = String::from("id,\"color, as seen\",size,kind\n");
    for row in 0..80 {
        let (color, kind) =
            [("\"red, dark\"", "warm"), ("blue", "\"very \"\"cold\"\"\""), ("7", "odd")][row % 3];
        let color = if row == 10 { "?" } else { color };
        let size = match row {
            20 => "NA".to_owned(),
            30 => "".to_owned(),
            40 => "NaN".to_owned(),
            _ => format!("{}.5", (row * 7) % 11),
        };
        text.push_str(&format!("{row},{color},{size},{kind}\n"));
    }
    text
}

fn bench(desk: &Desk, file: &str, label: &str, out: &str) -> Said {
    desk.locus(["bench", "--csv", file, "--label", label, "--out", out].iter().chain(&TINY))
}

fn record(desk: &Desk, out: &str) -> ProblemRecord {
    read_run(&desk.path(out)).unwrap().unwrap().problems.remove(0)
}

#[test]
fn a_table_becomes_a_problem_called_by_its_file() {
    let desk = Desk::new();
    desk.write("data/mine.csv", table());
    let said = bench(&desk, "data/mine.csv", "kind", "out").ok();
    let note = "note: data/mine.csv: dropped 4 of 80 rows, in which a value is missing\n";
    assert!(said.stderr.contains(note), "{}", said.stderr);
    assert!(said.stdout.contains("\nmine\n  policy"), "{}", said.stdout);
    let problem = record(&desk, "out");
    assert_eq!(problem.name, "mine");
    // Number, three colors (one of them written as a number), size; and three kinds to find.
    assert_eq!((problem.n_features, problem.n_actions), (1 + 3 + 1, 3));
    assert_eq!(problem.files[0].name, "mine.csv");

    // The right class pays 1.
    let regrets = desk.regrets("out", &id("lin-full-post", "mine", 0));
    assert!(regrets.len() == 60 && regrets.iter().all(|regret| *regret == 0.0 || *regret == 1.0));
    // The seed is fixed, so this is no matter of luck: uniform is wrong twice out of three times.
    let wrong = |policy| desk.regrets("out", &id(policy, "mine", 1))[30..].iter().sum::<f64>();
    let (learned, uniform) = (wrong("lin-full-post"), wrong("uniform"));
    assert!(learned < uniform / 2.0, "{learned} of 30 wrong, uniform {uniform}");
}

/// Eight seconds in tenths: all 80 times are one number in f32, yet their halves can be told apart.
#[test]
fn times_of_today_are_told_apart() {
    let desk = Desk::new();
    let row = |i: usize| {
        let half = if i < 40 { "early" } else { "late" };
        format!("{}.{},{half}\n", 1_763_240_000 + i / 10, i % 10)
    };
    desk.write("times.csv", format!("t,half\n{}", (0..80).map(row).collect::<String>()));
    bench(&desk, "times.csv", "half", "out").ok();
    let wrong = |policy| desk.regrets("out", &id(policy, "times", 0))[20..].iter().sum::<f64>();
    let (learned, uniform) = (wrong("lin-full-post"), wrong("uniform"));
    assert!(learned < uniform / 2.0, "{learned} of 40 wrong, uniform {uniform}");
}

#[test]
fn the_label_by_name_or_number_and_the_file_plain_or_compressed_are_the_same() {
    let desk = Desk::new();
    desk.write("mine.csv", table());
    let mut encoder = GzEncoder::new(Vec::new(), Compression::default());
    encoder.write_all(table().as_bytes()).unwrap();
    desk.write("packed/mine.csv.gz", encoder.finish().unwrap());
    bench(&desk, "mine.csv", "kind", "by-name").ok();
    bench(&desk, "mine.csv", "3", "by-number").ok();
    bench(&desk, "packed/mine.csv.gz", "kind", "packed").ok();
    let by_name = desk.results("by-name");
    assert_eq!(by_name.len(), 4);
    assert_eq!(by_name, desk.results("by-number"));
    assert_eq!(by_name, desk.results("packed"));
    // So a packed file goes on where the plain one stopped.
    let said = bench(&desk, "packed/mine.csv.gz", "3", "by-name").ok();
    assert!(said.stdout.contains("nothing left to run"), "{}", said.stdout);
    // Another label is another problem.
    let remedy = "go back to the label and the version of locus of these trials: the data are the same";
    for (label, what) in [
        ("color, as seen", "rounds of checksum"),
        ("size", "of features × actions 5 × 3, but 7 × 11 was asked for"),
    ] {
        let expected = format!("`by-name` holds trials with `mine` {what}");
        bench(&desk, "mine.csv", label, "by-name").refused(&[&expected, "--out", remedy]);
    }
}

#[test]
fn several_files_and_built_in_problems_run_together() {
    let desk = Desk::new();
    desk.write("a.csv", table());
    desk.write("b.csv", table());
    desk.tiny_bench("--csv a.csv --label kind --csv b.csv --label 3 --problems linear --out out").ok();
    let mut problems: Vec<String> = desk.rows("out").into_iter().map(|row| row.id.problem).collect();
    problems.sort();
    problems.dedup();
    assert_eq!(problems, ["a", "b", "linear"]);
    // The rows of a trial are drawn by the problem's name.
    let results = desk.results("out");
    assert_ne!(results[&id("uniform", "a", 0)], results[&id("uniform", "b", 0)]);
}

#[test]
fn a_suite_finds_its_table_beside_itself() {
    let desk = Desk::new();
    desk.write("suites/tables/mine.csv", table());
    let suite =
        "policies = [\"lin-full-post\"]\ntrials = 2\nsteps = 60\n[[csv]]\nfile = \"tables/mine.csv\"\n";
    desk.write("suites/by-name.toml", format!("{suite}label = \"kind\"\n"));
    desk.write("suites/by-number.toml", format!("{suite}label = 3\n"));
    desk.locus(["bench", "--suite", "suites/by-name.toml"]).ok();
    desk.locus(["bench", "--suite", "suites/by-number.toml"]).ok();
    bench(&desk, "suites/tables/mine.csv", "kind", "out").ok();
    assert_eq!(desk.results("runs/suite-by-name"), desk.results("out"));
    assert_eq!(desk.results("runs/suite-by-number"), desk.results("out"));
}
