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

/// What is said of [`table`] before it is run.
fn schema_of(file: &str) -> String {
    format!(
        "{file}: 80 rows read, 76 used; 4 features, 3 actions
  id              ignored: identifier or free text, 80 distinct values
  color, as seen  categorical, 3 values; 1 row without a value dropped
  size            numeric; 3 rows without a value dropped
  kind            label, 3 values
  4 rows dropped because a value is missing; --missing median keeps them and fills numbers with the median
  1 column ignored; force one with --categorical COLUMN or --numeric COLUMN
"
    )
}

#[test]
fn a_table_becomes_a_problem_called_by_its_file() {
    let desk = Desk::new();
    desk.write("data/mine.csv", table());
    let said = bench(&desk, "data/mine.csv", "kind", "out").ok();
    assert!(said.stderr.starts_with(&schema_of("data/mine.csv")), "{}", said.stderr);
    assert!(said.stdout.contains("\nmine\n  policy"), "{}", said.stdout);
    let problem = record(&desk, "out");
    assert_eq!(problem.name, "mine");
    // Three colors (one of them written as a number), size; and three kinds to find.
    assert_eq!((problem.n_features, problem.n_actions), (3 + 1, 3));
    assert_eq!(problem.files[0].name, "mine.csv");
    let schema = problem.schema.unwrap();
    assert_eq!((schema.rows_read, schema.rows_dropped, schema.missing.as_str()), (80, 4, "drop"));
    let columns: Vec<_> = schema
        .columns
        .iter()
        .map(|column| {
            (column.name.as_str(), column.usage.as_str(), column.reason.as_deref(), column.rows_dropped)
        })
        .collect();
    let expected = [
        ("id", "ignored", Some("identifier"), 0),
        ("color, as seen", "categorical", None, 1),
        ("size", "numeric", None, 3),
        ("kind", "label", None, 0),
    ];
    assert_eq!(columns, expected);

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
    let remedy =
        "use the label, the column options and the version of locus of these trials: the data are the same";
    for (label, what) in [
        ("color, as seen", "rounds of checksum"),
        ("id", "of features × actions 4 × 3, but 7 × 76 was requested"),
    ] {
        let expected = format!("`by-name` holds trials with `mine` {what}");
        bench(&desk, "mine.csv", label, "by-name").refused(&[&expected, "--out", remedy]);
    }
}

#[test]
fn a_table_can_be_inspected_without_running_it() {
    let desk = Desk::new();
    desk.write("mine.csv", table());
    let inspect = |words: &str| desk.locus(["inspect"].into_iter().chain(words.split(' '))).ok();
    let said = inspect("mine.csv --label kind");
    assert_eq!((said.stdout, said.stderr.as_str()), (schema_of("mine.csv"), ""));
    // Without a label, the kind is a column like the others.
    let said = inspect("mine.csv").stdout;
    assert!(said.starts_with("mine.csv: 80 rows read, 76 used; 7 features\n"), "{said}");
    assert!(said.contains("\n  kind            categorical, 3 values\n"), "{said}");
    assert!(said.ends_with("  no label: name the column to predict with --label COLUMN\n"), "{said}");
    desk.write("tabs.tsv", "a\tb\n1\tx\n2\ty\n");
    let said = inspect("tabs.tsv --label b --delimiter tab").stdout;
    assert!(said.starts_with("tabs.tsv: 2 rows read, 2 used; 1 feature, 2 actions\n"), "{said}");
    desk.locus("inspect tabs.tsv --label b".split(' '))
        .refused(&["tabs.tsv: no column is called `b`", "try --delimiter tab"]);
    desk.locus(["inspect", "nowhere.csv"]).refused(&["cannot read nowhere.csv: No such file"]);
    desk.locus("inspect mine.csv --label knd".split(' '))
        .refused(&["`knd`, which --label names (did you mean `kind`?)"]);
    assert!(!desk.path("runs").exists());
}

#[test]
fn columns_are_forced_and_missing_values_filled() {
    let desk = Desk::new();
    desk.write("mine.csv", table());
    let shape = |words: &str, out: &str| {
        let words = format!("--csv mine.csv --label kind --out {out} {words}");
        let said = desk.tiny_bench(&words).ok();
        let problem = record(&desk, out);
        (said.stderr, problem.n_features, problem.schema.unwrap())
    };
    let (said, n_features, schema) = shape("--numeric id --ignore 1", "numeric");
    assert!(said.contains("  id              numeric, forced\n"), "{said}");
    assert!(
        said.contains("  color, as seen  ignored: --ignore\n") && !said.contains("column ignored"),
        "{said}"
    );
    assert_eq!((n_features, schema.rows_dropped), (2, 3));
    assert!(schema.columns[0].forced && schema.columns[1].forced && !schema.columns[2].forced);
    let (said, n_features, schema) = shape("--categorical size --missing category", "categories");
    assert!(
        said.contains(
            "  size            categorical, 12 values, forced; missing in 3 rows, a separate category\n"
        ),
        "{said}"
    );
    assert_eq!((n_features, schema.rows_dropped, schema.missing.as_str()), (4 + 12, 0, "category"));
    let (said, n_features, schema) = shape("--missing median", "median");
    assert!(
        said.contains("  size            numeric; missing in 3 rows, filled with the median\n"),
        "{said}"
    );
    assert_eq!((n_features, schema.rows_dropped, schema.missing.as_str()), (4 + 1, 0, "median"));
    // What is made of the file is part of the run; where it makes no difference, the run goes on.
    let other = desk.tiny_bench("--csv mine.csv --label kind --out numeric --ignore 1");
    other.refused(&[
        "`numeric` holds trials with `mine` of features × actions 2 × 3, but 1 × 3 was requested",
    ]);
    let said = desk
        .tiny_bench("--csv mine.csv --label kind --out numeric --ignore 1 --numeric id --categorical kind")
        .ok();
    assert!(said.stdout.contains("nothing left to run"), "{}", said.stdout);
}

#[test]
fn options_for_columns_that_make_no_sense_are_refused() {
    let desk = Desk::new();
    desk.write("mine.csv", table());
    let rows: String = (0..200).map(|i| format!("{}.5,{i},w{}\n", i % 7, i % 3)).collect();
    desk.write("labels.csv", format!("pay,user,kind\n{rows}"));
    for (words, expected) in [
        (
            "--csv mine.csv --label kind --ignore siz",
            "no column is called `siz`, which --ignore names (did you mean `size`?)",
        ),
        (
            "--csv mine.csv --label kind --numeric id --categorical id",
            "--categorical and --numeric both name the column `id`",
        ),
        ("--csv mine.csv --label kind --ignore kind", "--ignore names `kind`, which is the label"),
        (
            "--csv mine.csv --label kind --numeric 1",
            "(`color, as seen`): found `red, dark`, expected a number",
        ),
        ("--csv mine.csv --label kind --missing mean", "[possible values: drop, category, median]"),
        ("--csv mine.csv --label kind --delimiter ab", "the delimiter is `ab`, expected one character"),
        (
            "--problems linear --ignore id",
            "--ignore applies to the columns of a CSV file; name one with --csv FILE",
        ),
        (
            "--csv labels.csv --label pay",
            "the label `pay` holds numbers with fractions, such as `0.5`, expected at most 100 classes: each value would be an action; name another column with --label, or force this one with --categorical pay",
        ),
        (
            "--csv labels.csv --label user",
            "the label `user` has 200 distinct values, expected at most 100 classes",
        ),
    ] {
        desk.tiny_bench(&format!("{words} --out out")).refused(&[expected]);
    }
    let explore = desk.locus("explore linear --missing drop --out out".split(' '));
    explore.refused(&["--missing applies to the columns of a CSV file; name one with --csv FILE"]);
    let words = "explore --csv mine.csv --label kind --numeric idd --out out";
    desk.locus(words.split(' ')).refused(&["`idd`, which --numeric names (did you mean `id`?)"]);
    assert!(!desk.path("out").exists());
    desk.tiny_bench("--csv labels.csv --label pay --categorical pay --out out").ok();
    let problem = record(&desk, "out");
    assert_eq!((problem.n_features, problem.n_actions), (3, 7));
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
    desk.write("suites/ignoring.toml", format!("{suite}label = 3\nignore = ['size']\nnumeric = [0]\n"));
    desk.locus(["bench", "--suite", "suites/ignoring.toml"]).ok();
    let usages: Vec<String> = record(&desk, "runs/suite-ignoring")
        .schema
        .unwrap()
        .columns
        .into_iter()
        .map(|column| column.usage)
        .collect();
    assert_eq!(usages, ["numeric", "categorical", "ignored", "label"]);
    desk.locus(["bench", "--suite", "suites/by-name.toml"]).ok();
    desk.locus(["bench", "--suite", "suites/by-number.toml"]).ok();
    bench(&desk, "suites/tables/mine.csv", "kind", "out").ok();
    assert_eq!(desk.results("runs/suite-by-name"), desk.results("out"));
    assert_eq!(desk.results("runs/suite-by-number"), desk.results("out"));
}
