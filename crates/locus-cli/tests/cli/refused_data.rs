//! Data that is missing or not what it should be.

use crate::harness::Desk;

/// Shuttle's ten columns, with two classes that the first one tells apart.
fn shuttle(n_rows: usize) -> String {
    (0..n_rows).map(|row| format!("{} 2 3 4 5 6 7 8 {row} {}\n", row % 2, 1 + row % 2)).collect()
}

#[test]
fn all_missing_files_are_named_at_once() {
    let files = [
        "mushroom.data (for mushroom)",
        "raw_stock_contexts (for financial)",
        "shuttle.trn (for statlog)",
        "jester_data_40jokes_19181users.npy (for jester)",
        "covtype.data (for covertype)",
        "adult.full (for adult)",
        "USCensus1990.data.txt (for census)",
    ];
    let with = |more: &[&'static str]| [&files, more].concat();
    let part = "with the first 10,000 rows of the census, USCensus1990.first10000.data.txt, the problem `census-10k` can run instead";
    let desk = Desk::new();
    let paper = ["bench", "--suite", "paper", "--out", "out"];
    let all = "mushroom financial statlog jester covertype adult census` tries to download them";
    let fetch = |folder: &str| format!("`locus data fetch --data {folder} {all}");
    let expected =
        with(&["missing files: ", "--data DIR, or set LOCUS_DATA", "`locus data` lists the sources"]);
    desk.locus(paper).refused(&[&expected[..], &[&fetch("DIR")]].concat());
    std::fs::create_dir(desk.path("empty")).unwrap();
    desk.locus(paper.iter().chain(&["--data", "empty"])).refused(&with(&["put them into `empty`", part]));
    desk.locus(paper.iter().chain(&["--data", "empty"])).refused(&[&fetch("empty")]);
    desk.locus(paper.iter().chain(&["--data", "nowhere"])).refused(&with(&["`nowhere` is not a folder"]));
    assert!(!desk.path("out").exists());

    desk.write("some/shuttle.trn", shuttle(9));
    let said = desk.locus(paper.iter().chain(&["--data", "some"]));
    assert!(!said.stderr.contains("shuttle.trn"), "it is there: {}", said.stderr);
    let one = ["bench", "--problems", "adult,statlog", "--data", "some"];
    desk.locus(one).refused(&[
        "missing file: adult.full (for adult); `locus data fetch --data some adult` tries to download it, or put it into `some`",
    ]);
    let census = ["bench", "--problems", "census", "--data", "some"];
    desk.locus(census).refused(&["missing file: USCensus1990.data.txt (for census); ", part]);
}

#[test]
fn a_file_of_another_checksum_is_used_with_a_word_of_warning() {
    let desk = Desk::new();
    desk.write("some/shuttle.trn", shuttle(80));
    let said = desk.tiny_bench("--problems statlog --data some --out out").ok();
    assert!(
        said.stderr.contains("some/shuttle.trn: the checksum does not match the known one"),
        "{}",
        said.stderr
    );
    let words = ["bench", "--problems", "statlog", "--trials", "2", "--steps", "60", "--out", "out"];
    let again = desk.command(words).env("LOCUS_DATA", desk.path("some")).output().unwrap();
    let again = crate::harness::Said::from(again).ok();
    assert!(again.stdout.contains("nothing left to run"), "{}", again.stdout);

    // A folder is bound to its data.
    desk.write("other/shuttle.trn", shuttle(81));
    let said = desk.tiny_bench("--problems statlog --data other --out out");
    said.refused(&["`statlog` data of checksum", "--out", "use the data of these trials"]);
}

#[test]
fn more_steps_than_rows_are_refused() {
    let desk = Desk::new();
    desk.write("some/shuttle.trn", shuttle(50));
    let expected = ["problem `statlog` has 50 rows, fewer than the 60 steps", "at most 50 steps"];
    desk.tiny_bench("--problems linear,statlog --data some --out out").refused(&expected);
    desk.tiny_bench("--problems linear,statlog --data some --out out --dry-run").refused(&expected);
    assert!(!desk.path("out").exists());
}

#[test]
fn a_broken_row_is_refused_with_its_place() {
    let desk = Desk::new();
    let rows = shuttle(80).replacen(" 41 2\n", " forty-one 2\n", 1);
    desk.write("some/shuttle.trn", rows);
    let said = desk.tiny_bench("--problems statlog --data some --out out");
    said.refused(&["some/shuttle.trn, line 42, column 9", "forty-one"]);
}

#[test]
fn own_files_that_do_not_fit_are_refused() {
    let desk = Desk::new();
    desk.write("mine.csv", "size,kind\n1,a\n2,b\n");
    desk.tiny_bench("--csv mine.csv").refused(&["--label <COLUMN>"]);
    desk.tiny_bench("--label kind").refused(&["--csv <FILE>"]);
    let twice = desk.tiny_bench("--csv mine.csv --csv other.csv --label kind");
    twice.refused(&["--csv was given 2 times and --label 1 times"]);
    let label = desk.tiny_bench("--csv mine.csv --label sort");
    label.refused(&["mine.csv: no column is called `sort`", "its columns are size, kind"]);
    let label = desk.tiny_bench("--csv mine.csv --label 2");
    label.refused(&["mine.csv: there is no column 2 among the 2, counted from 0"]);
    desk.tiny_bench("--csv nowhere.csv --label kind").refused(&["cannot read nowhere.csv: No such file"]);
    desk.tiny_bench("--npz nowhere.npz").refused(&["cannot read nowhere.npz: No such file"]);
    desk.tiny_bench("--npz mine.csv").refused(&[
        "mine.csv: this is not an NPZ file; if it is a table with a header, give it with --csv FILE --label COLUMN",
    ]);
    desk.write("mine.npz", b"PK\x05\x06");
    let archive = desk.tiny_bench("--csv mine.npz --label kind");
    archive.refused(&["mine.npz: this is an NPZ file, expected text; give it with --npz FILE"]);
    let steps = desk.tiny_bench("--csv mine.csv --label kind");
    steps.refused(&["problem `mine` has 2 rows, fewer than the 60 steps; use at most 2 steps"]);
    desk.write("other/mine.csv", "size,kind\n1,a\n2,b\n");
    let twins = "bench --csv mine.csv --label kind --csv other/mine.csv --label kind --steps 2";
    desk.locus(twins.split(' ')).refused(&["two problems are called `mine`; give one of them another name"]);
    desk.write("adult.csv", "size,kind\n1,a\n2,b\n");
    let taken = desk.locus("bench --csv adult.csv --label kind --steps 2".split(' '));
    taken.refused(&["adult.csv: `adult` is the name of a built-in problem", "rename the file"]);
}

#[test]
fn a_table_of_identifiers_alone_is_refused() {
    let desk = Desk::new();
    let rows: String = (0..1001).map(|row| format!("user-{row},{}\n", row % 2)).collect();
    desk.write("mine.csv", format!("user,kind\n{rows}"));
    desk.tiny_bench("--csv mine.csv --label kind").refused(&[
        "mine.csv: no column is left as a feature: `user` is ignored (identifier); use one with --categorical COLUMN",
    ]);
    desk.tiny_bench("--csv mine.csv --label kind --categorical user").refused(&[
        "mine.csv: the text column `user` has 1001 different values, expected at most 1000",
        "--ignore",
    ]);
}
