//! What there is: problems, policies, data files, flags.

use std::fs;

use crate::harness::Desk;

fn said(words: &[&str]) -> String {
    let said = Desk::new().locus(words).ok();
    assert_eq!(said.stderr, "");
    said.stdout
}

#[test]
fn problems_are_listed_with_size_and_file() {
    let stdout = said(&["problems"]);
    for (id, shape, origin) in [
        ("mushroom", "117 features,  2 actions", "8124 rows of mushroom.data"),
        ("financial", "21 features,  8 actions", "3713 rows of raw_stock_contexts"),
        ("statlog", "9 features,  7 actions", "43500 rows of shuttle.trn"),
        ("jester", "32 features,  8 actions", "19181 rows of jester_data_40jokes_19181users.npy"),
        ("wheel", "2 features,  5 actions", "generated"),
        ("covertype", "54 features,  7 actions", "581012 rows of covtype.data"),
        ("adult", "94 features, 14 actions", "45222 rows of adult.full"),
        ("census", "389 features,  9 actions", "2458285 rows of USCensus1990.data.txt"),
        ("linear", "10 features,  8 actions", "generated"),
        ("sparse-linear", "10 features,  7 actions", "generated"),
        ("folded", "5 features,  4 actions", "generated"),
        ("drift", "10 features,  8 actions", "generated"),
    ] {
        let line = stdout.lines().find(|line| line.starts_with(&format!("{id} "))).expect(id);
        assert!(line.contains(shape) && line.ends_with(origin), "{line}");
    }
    assert!(stdout.contains("--csv FILE --label COLUMN") && stdout.contains("--npz FILE"), "{stdout}");
}

#[test]
fn policies_are_listed_with_every_setting() {
    let all = said(&["policies"]);
    assert!(all.starts_with("uniform\n") && all.contains("\nlin-full-post\n"), "{all}");
    let one = said(&["policies", "lin-full-post"]);
    assert!(one.starts_with("lin-full-post\n") && !one.contains("uniform\n"), "{one}");
    let block =
        |key: &str| one.split(&format!("  {key} = ")).nth(1).expect(key).lines().take(3).collect::<Vec<_>>();
    for (key, default, range) in [
        ("prior_precision", "0.25", "      a number from 1e-12 to 1e12; default from: benchmark"),
        ("prior_shape", "6", "      a number from 0.1 to 1e12; default from: benchmark"),
        ("prior_rate", "6", "      a number above 0, up to 1e12; default from: benchmark"),
        ("initial_pulls", "2", "      a whole number from 0 to 1000; default from: benchmark"),
    ] {
        let block = block(key);
        assert_eq!((block[0], block[2]), (default, range));
        assert!(block[1].trim().len() > 10, "says what it means: {block:?}");
    }
    Desk::new().locus(["policies", "nonsense"]).refused(&["`nonsense`; there are uniform,", "lin-full-post"]);
    Desk::new().locus(["policies", "lin-fullpost"]).refused(&["(did you mean `lin-full-post`?)"]);
}

#[test]
fn data_files_are_found_missing_or_doubted() {
    let desk = Desk::new();
    desk.write("some/shuttle.trn", "1 2 3 4 5 6 7 8 9 1\n9 8 7 6 5 4 3 2 1 2\n");
    let stdout = desk.locus(["data", "--data", "some"]).ok().stdout;
    let blocks: Vec<&str> = stdout.split("\n    source: ").collect();
    let block =
        |name: &str| *blocks.iter().find(|block| block.contains(&format!("{name}, for "))).expect(name);
    let shuttle = block("shuttle.trn");
    for part in [
        "some/shuttle.trn\n",
        "2 rows, but 43500 were expected",
        "sha256 ",
        "(warning: does not match the known one)",
    ] {
        assert!(shuttle.contains(part), "expected {part:?} in {shuttle}");
    }
    assert_eq!(stdout.matches("    missing (").count(), 7, "{stdout}");
    assert_eq!(stdout.matches("    license: ").count(), 8, "{stdout}");
    assert!(block("adult.full").contains("missing (48842 rows expected)"), "{stdout}");
    assert!(stdout.contains("https://archive.ics.uci.edu/dataset/31/covertype"), "{stdout}");

    let by_variable = desk.command(["data"]).env("LOCUS_DATA", "some").output().unwrap();
    assert_eq!(String::from_utf8(by_variable.stdout).unwrap(), stdout);
    desk.locus(["data", "--data", "nowhere"]).refused(&[
        "nowhere is not a folder",
        "--data DIR",
        "LOCUS_DATA",
    ]);
}

#[test]
fn without_a_folder_the_files_to_get_are_listed() {
    let stdout = said(&["data"]);
    assert_eq!(stdout.matches("    source: ").count(), 8, "{stdout}");
    assert!(!stdout.contains("missing"), "nothing was searched: {stdout}");
    assert!(stdout.ends_with("--data DIR, or set LOCUS_DATA.\n"), "{stdout}");
}

#[test]
fn completions_know_the_flags() {
    for (shell, sign) in
        [("bash", "complete -F _locus -o"), ("zsh", "#compdef locus\n"), ("fish", "complete -c locus -n")]
    {
        let script = said(&["completions", shell]);
        assert!(script.contains(sign), "{shell}: {script}");
        assert!(script.contains("dry-run") && script.contains("policies"), "{shell}: {script}");
    }
    Desk::new().locus(["completions", "cmd"]).refused(&["'cmd'", "bash"]);
}

#[test]
fn help_is_something_to_work_from() {
    let help = said(&["--help"]);
    for command in
        ["bench", "table", "report", "status", "inspect", "problems", "policies", "data", "completions"]
    {
        assert!(help.contains(&format!("\n  {command} ")), "{help}");
    }
    assert!(help.contains("locus bench --suite paper --data DIR"), "{help}");
    let is_too_wide = |line: &&str| line.chars().count() > 80;
    let examples = help.split("Examples:").nth(1).unwrap();
    assert_eq!(examples.lines().find(is_too_wide), None);
    let bench = said(&["bench", "--help"]);
    for flag in [
        "--suite",
        "--problems",
        "--policies",
        "--csv",
        "--label",
        "--npz",
        "--ignore",
        "--categorical",
        "--numeric",
        "--missing",
        "--delimiter",
        "--trials",
        "--steps",
        "--seed",
        "--jobs",
        "--out",
        "--shard",
        "--only",
        "--dry-run",
        "--data",
        "--help",
    ] {
        assert!(bench.contains(&format!("{flag} ")), "{flag} in {bench}");
    }
    assert!(bench.contains("LOCUS_DATA") && bench.contains("quick"), "{bench}");
    let table = said(&["table", "--help"]);
    for word in
        ["--metric", "cumulative", "simple", "runtime", "--format", "text", "markdown", "csv", "latex"]
    {
        assert!(table.contains(word), "{word} in {table}");
    }
    let inspect = said(&["inspect", "--help"]);
    assert!(inspect.starts_with("Show how a CSV or NPZ file of your own is read"), "{inspect}");
    assert!(inspect.contains("Example: locus inspect mine.csv --label outcome"), "{inspect}");
    let in_one_line = |help: &str| help.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(in_one_line(&table).contains("last 500 steps (the last quarter of fewer than 2000)"), "{table}");
    assert!(in_one_line(&bench).contains("read twice, so it cannot be a pipe"), "{bench}");
}

#[test]
fn the_help_of_every_command_has_an_example_that_begins_with_it() {
    let commands = [
        "bench",
        "table",
        "report",
        "status",
        "plan",
        "merge",
        "explore",
        "inspect",
        "problems",
        "policies",
        "data",
        "data fetch",
        "data derive",
        "completions",
    ];
    let help = said(&["--help"]);
    let listed = help.split("Commands:").nth(1).unwrap().split("Options:").next().unwrap();
    let listed: Vec<&str> = listed
        .lines()
        .filter(|line| line.starts_with("  ") && !line.starts_with("   "))
        .filter_map(|line| line.split_whitespace().next())
        .filter(|command| *command != "help")
        .collect();
    assert!(listed.iter().all(|command| commands.contains(command)), "{listed:?}");
    for command in commands {
        let words: Vec<&str> = command.split(' ').chain(["--help"]).collect();
        let help = said(&words);
        let (_, examples) = help.split_once("Example").expect(command);
        assert!(examples.contains(&format!("locus {command}")), "{help}");
    }
}

#[test]
fn the_help_lists_the_exit_codes() {
    let help = said(&["--help"]);
    let (_, codes) = help.split_once("Exit codes:\n").expect("a list of exit codes");
    let codes: Vec<&str> = codes.lines().filter_map(|line| line.split_whitespace().next()).collect();
    assert_eq!(codes, ["0", "1", "2", "130"]);
    let docs = include_str!("../../../../README.md");
    let (_, listed) = docs.split_once("Exit codes: ").expect("README.md lists the exit codes");
    let listed = listed.split('.').next().unwrap_or_default().split("; ");
    assert!(
        listed.filter_map(|code| code.split_whitespace().next()).eq(codes),
        "README.md lists other exit codes"
    );
}

#[test]
fn the_version_is_that_of_locus() {
    assert_eq!(said(&["--version"]), format!("locus {}\n", env!("CARGO_PKG_VERSION")));
}

#[test]
fn listings_write_nothing() {
    let desk = Desk::new();
    for words in [&["problems"][..], &["policies"], &["data"], &["--help"]] {
        desk.locus(words).ok();
    }
    assert_eq!(fs::read_dir(desk.path("")).unwrap().count(), 0);
}
