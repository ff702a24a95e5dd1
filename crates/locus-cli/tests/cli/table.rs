//! `locus table OUT`: from the records alone.

use std::fs;

use crate::harness::Desk;

/// A run at the paper's number of steps, so that its values stand beside ours, and one problem that it lacks.
fn run(desk: &Desk) {
    let words = "bench --problems wheel,linear --trials 3 --steps 2000 --out out";
    desk.locus(words.split(' ')).ok();
}

fn table(desk: &Desk, words: &str) -> String {
    desk.locus(["table"].into_iter().chain(words.split(' '))).ok().stdout
}

#[test]
fn every_metric_in_every_format() {
    let desk = Desk::new();
    run(&desk);
    // The paper's values for LinFullPost on Wheel.
    let seconds = match cfg!(any(target_os = "linux", target_os = "macos")) {
        true => "2000 steps: CPU seconds",
        false => "2000 steps: wall-clock seconds",
    };
    for (metric, paper, title, spread) in [
        ("cumulative", "38.38", "Normalized cumulative regret", "± sd"),
        ("simple", "20.62", "Normalized simple regret", "± sd"),
        ("runtime", "3.00", seconds, "quartiles"),
    ] {
        let show = |format| table(&desk, &format!("out --metric {metric} --format {format}"));
        let text = show("text");
        for part in [title, paper, "wheel\n", "linear\n", spread, "lin-full-post", "paper", "mean rank"] {
            assert!(text.contains(part), "expected {part:?} in {text}");
        }
        let markdown = show("markdown");
        assert!(markdown.starts_with("| policy |") && markdown.contains("\n| --- |"), "{markdown}");
        assert!(markdown.contains(title) && markdown.contains(paper), "{markdown}");
        let latex = show("latex");
        assert!(latex.starts_with("\\begin{table}") && latex.ends_with("\\end{table}\n"), "{latex}");
        assert!(latex.contains(title) && latex.contains(paper), "{latex}");
        let csv = show("csv");
        assert!(
            csv.starts_with("metric,policy,problem,mean,median,sd,se,n,common_mean,common_n,paper_mean,"),
            "{csv}"
        );
        for (policy, problem) in [("uniform", "wheel"), ("lin-full-post", "linear")] {
            let row = csv.lines().find(|line| line.starts_with(&format!("{metric},{policy},{problem},")));
            assert_eq!(row.expect("a row for each").split(',').nth(7), Some("3"), "{csv}");
        }
        assert!(csv.contains(paper.trim_end_matches(".00")), "{csv}");
    }
    assert_eq!(table(&desk, "out"), table(&desk, "out --metric cumulative --format text"));
}

#[test]
fn the_numbers_are_those_of_the_records() {
    let desk = Desk::new();
    run(&desk);
    let rows = desk.rows("out");
    let mean = |policy: &str| {
        let of = rows.iter().filter(|row| row.id.policy == policy && row.id.problem == "wheel");
        of.map(|row| row.outcome.as_ref().unwrap().cumulative_regret).sum::<f64>() / 3.0
    };
    let expected = format!("{:.2}", 100.0 * mean("lin-full-post") / mean("uniform"));
    let text = table(&desk, "out");
    let wheel: Vec<&str> = text.lines().skip_while(|line| *line != "wheel").take(4).collect();
    assert!(wheel[2].starts_with("  uniform        100.00 "), "{wheel:?}");
    let cells: Vec<&str> = wheel[3].split_whitespace().collect();
    assert_eq!((cells[0], cells[1], cells[5]), ("lin-full-post", expected.as_str(), "3"), "{wheel:?}");
}

/// Ranks and the best are those among what is shown; the numbers stay.
#[test]
fn a_part_of_a_run_can_be_asked_for() {
    let desk = Desk::new();
    let words = "bench --problems wheel,linear --policies lin-full-post,lin-ucb,lin-pool --trials 3 --steps 40 --out out";
    desk.locus(words.split(' ')).ok();
    let row = |csv: &str, start: &str| {
        csv.lines().find(|line| line.starts_with(start)).map(str::to_owned).expect("a row")
    };
    let all = table(&desk, "out --format csv");
    let part = table(&desk, "out --format csv --policies lin-pool,lin-ucb --problems wheel");
    for start in ["cumulative,uniform,wheel", "cumulative,lin-ucb,wheel", "cumulative,lin-pool,wheel"] {
        assert_eq!(row(&part, start), row(&all, start));
    }
    assert!(!part.contains("lin-full-post") && !part.contains("linear"), "{part}");
    let ranks = part.lines().filter(|line| line.contains(",mean_rank,"));
    let mut ranks: Vec<&str> = ranks.map(|line| line.split(',').nth(3).unwrap()).collect();
    ranks.sort_unstable();
    assert_eq!(ranks, ["1.0", "2.0", "3.0"], "{part}");
    desk.locus("table out --policies lin-pool[exploration=2]".split(' ')).refused(&[
        "the run has no policy `lin-pool[exploration=2]`",
        "lin-full-post, lin-pool, lin-ucb, uniform",
    ]);
    desk.locus("table out --problems adult".split(' '))
        .refused(&["the run has no problem `adult`; it has linear, wheel"]);
    desk.locus(["table", "out", "--problems", "whele"])
        .refused(&["the run has no problem `whele` (did you mean `wheel`?); it has linear, wheel"]);
    desk.locus("bench --problems linear --policies boltzmann --trials 3 --steps 40 --out out".split(' '))
        .ok();
    for words in ["table out", "report out --output page.html"] {
        desk.locus(format!("{words} --policies boltzmann --problems wheel").split(' '))
            .refused(&["none of the requested policies has run on any of the requested problems"]);
    }
    desk.locus(["table", "out", "--policies", ""]).refused(&["--policies names no policy"]);
    desk.locus(["table", "out", "--problems", ""]).refused(&["--problems names no problem"]);
    desk.locus("report out --policies lin-ucb".split(' ')).refused(&["a part of a run", "--output"]);
    desk.locus("report out --policies bbb --output page.html".split(' '))
        .refused(&["the run has no policy `bbb`"]);
    desk.locus("report out --policies lin-ucb --problems wheel --output page.html".split(' ')).ok();
    let page = desk.read("page.html");
    assert!(page.contains("Only a part of the run is shown: the policies lin-ucb; the problems wheel."));
    let has_row = |policy: &str| page.contains(&format!("data-sort=\"{policy}\""));
    assert!(has_row("uniform") && has_row("lin-ucb") && !has_row("lin-full-post"));
}

#[test]
fn neither_data_nor_the_other_files_are_needed() {
    let desk = Desk::new();
    let rows: String = (0..80).map(|row| format!("{row}.5,{}\n", row % 2)).collect();
    let data = desk.write("mine.csv", format!("a,b\n{rows}"));
    desk.tiny_bench("--csv mine.csv --label b --out out").ok();
    let before = table(&desk, "out --metric simple");
    fs::remove_file(data).unwrap();
    assert_eq!(table(&desk, "out --metric simple"), before);
    desk.write("copy/trials.csv", desk.read("out/trials.csv"));
    assert_eq!(table(&desk, "copy --metric simple"), before);
    assert_eq!(fs::read_dir(desk.path("copy")).unwrap().count(), 1, "a table writes nothing");
}

#[test]
fn a_folder_without_trials_is_a_clear_error() {
    let desk = Desk::new();
    desk.locus(["table", "nowhere"]).refused(&["there is no folder `nowhere`", "`locus bench --out`"]);
    fs::create_dir(desk.path("empty")).unwrap();
    desk.locus(["table", "empty"]).refused(&["`empty` holds no trials.csv"]);
    desk.tiny_bench("--problems linear --out out").ok();
    let trials = desk.read("out/trials.csv");
    desk.write("begun/trials.csv", &trials[..=trials.find('\n').unwrap()]);
    desk.locus(["table", "begun"]).refused(&["no trial in `begun` has ended yet"]);
    desk.write("other/trials.csv", "a,b\n1,2\n");
    desk.locus(["table", "other"])
        .refused(&["other/trials.csv`, line 1: expected the header `problem,policy"]);
}

/// What `--against` prints are the differences of the records, trial by trial.
#[test]
fn a_policy_against_the_others() {
    let desk = Desk::new();
    let words = "bench --problems wheel,linear --policies lin-full-post,lin-ucb,lin-pool --trials 3 --steps 40 --out out";
    desk.locus(words.split(' ')).ok();
    let rows = desk.rows("out");
    let regrets = |policy: &str| -> Vec<f64> {
        let of = |trial: usize| {
            let row = rows
                .iter()
                .find(|row| row.id.policy == policy && row.id.problem == "wheel" && row.id.trial == trial);
            row.unwrap().outcome.as_ref().unwrap().cumulative_regret
        };
        (0..3).map(of).collect()
    };
    let [ours, theirs, uniform] = ["lin-ucb", "lin-full-post", "uniform"].map(regrets);
    let sum = |values: &[f64]| values.iter().sum::<f64>();
    let expected = 100.0 * (sum(&ours) - sum(&theirs)) / sum(&uniform);
    let wins = ours.iter().zip(&theirs).filter(|(ours, theirs)| ours < theirs).count();
    let csv = table(&desk, "out --against lin-full-post --format csv");
    let line = csv.lines().find(|line| line.starts_with("lin-ucb,lin-full-post,wheel,")).unwrap();
    let cells: Vec<&str> = line.split(',').collect();
    let found: f64 = cells[3].parse().unwrap();
    assert!((found - expected).abs() < 1e-9 * expected.abs().max(1.0), "{found} is not {expected}");
    assert_eq!([cells[6], cells[8]], [&*wins.to_string(), "3"], "{line}");
    assert!(!csv.contains("uniform"), "{csv}");
    // The policy compared with need not be named twice, and others are left out.
    let text = table(&desk, "out --against lin-full-post --policies lin-pool --problems wheel");
    let lines: Vec<&str> = text.lines().take(4).collect();
    assert!(lines[0] == "wheel" && lines[1].starts_with("  against lin-full-post  difference "), "{text}");
    assert!(lines[2].starts_with("  lin-pool ") && lines[3].is_empty(), "{text}");
    assert!(text.contains("Difference of normalized cumulative regret"), "{text}");
    let markdown = table(&desk, "out --against lin-full-post --format markdown --metric simple");
    assert!(
        markdown.starts_with("| against lin-full-post | lin-pool | lin-ucb |\n| --- | ---: | ---: |\n"),
        "{markdown}"
    );

    let refused = |words: &str, parts: &[&str]| {
        desk.locus(["table"].into_iter().chain(words.split(' '))).refused(parts);
    };
    refused("out --against bbb", &["bbb", "lin-full-post"]);
    refused("out --against nonsense", &["nonsense"]);
    refused(
        "out --against lin-ucb --metric runtime",
        &["expected --metric cumulative or simple, found runtime"],
    );
    refused("out --against lin-ucb --policies lin-ucb", &["no other policy to compare with `lin-ucb`"]);
}

#[test]
fn several_folders_are_one_table_if_they_saw_the_same() {
    let desk = Desk::new();
    desk.tiny_bench("--problems linear --policies lin-full-post --out one").ok();
    desk.tiny_bench("--problems linear --policies lin-ucb --out two").ok();
    desk.tiny_bench("--problems linear --policies lin-full-post,lin-ucb --out both").ok();
    assert_eq!(table(&desk, "one two --format csv"), table(&desk, "both --format csv"));
    desk.tiny_bench("--problems linear --policies lin-ucb --seed 7 --out other").ok();
    let said = desk.locus(["table", "one", "other"]);
    said.refused(&["`one` and `other` have different rounds"]);
    // A folder that is not there is no smaller table.
    desk.locus(["table", "one", "nowhere"]).refused(&["there is no folder `nowhere`"]);
    assert_eq!(table(&desk, "one two ./one --format csv"), table(&desk, "both --format csv"));
    // Two policies that never met in a trial, and what is missing of those that did.
    desk.locus(
        "bench --problems linear --policies uniform,lin-ucb --first-trial 5 --trials 2 --steps 60 --out late"
            .split(' '),
    )
    .ok();
    desk.locus(["table", "one", "late", "--against", "lin-full-post"])
        .refused(&["no other policy has a trial in common with `lin-full-post`"]);
    let trials = desk.read("both/trials.csv");
    let without_one = |policy: &str| -> String {
        let is_it = |line: &str| line.starts_with(&format!("linear,{policy},1,"));
        trials.lines().filter(|line| !is_it(line)).map(|line| format!("{line}\n")).collect()
    };
    desk.write("both/trials.csv", without_one("uniform"));
    let text = table(&desk, "both --against lin-ucb");
    assert!(text.contains("1 trial left out, Uniform has no such trial"), "{text}");
}

/// Where folders disagree on a policy, each has its own, and one of them is to be named.
#[test]
fn folders_that_disagree_on_a_policy() {
    let desk = Desk::new();
    desk.tiny_bench("--problems linear --policies lin-full-post,lin-ucb --out a").ok();
    let trials = desk.read("a/trials.csv");
    let line = trials.lines().find(|line| line.starts_with("linear,lin-ucb,0,")).unwrap();
    let mut cells: Vec<&str> = line.split(',').collect();
    cells[5] = "1.5";
    desk.write("b/trials.csv", trials.replace(line, &cells.join(",")));
    let said = desk.locus(["table", "a", "b", "--policies", "lin-ucb"]).ok();
    assert!(said.stderr.contains("`lin-ucb` has other results or settings in one folder"), "{}", said.stderr);
    assert!(said.stdout.contains("lin-ucb · a ") && said.stdout.contains("lin-ucb · b "), "{}", said.stdout);
    assert!(!said.stderr.contains("run.json") && !said.stdout.contains("lin-full-post"), "{said:?}");
    desk.locus(["table", "a", "b", "--against", "lin-ucb"])
        .refused(&["choose one, e.g. --against \"lin-ucb · a\""]);
    let said =
        desk.locus(["table", "a", "b", "--against", "lin-ucb · a", "--policies", "lin-full-post"]).ok();
    assert!(
        said.stdout.contains("against lin-ucb · a ") && said.stdout.contains("\n  lin-full-post "),
        "{}",
        said.stdout
    );
    assert!(said.stdout.contains("\n  lin-ucb · b "), "{}", said.stdout);
}
