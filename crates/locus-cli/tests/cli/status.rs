//! `locus status OUT…`: how far a run is, from its folder alone.

use std::fs;
use std::process::Stdio;

use crate::failing::FAILING;
use crate::harness::{Desk, wait_for_first_row};

#[test]
fn a_run_that_has_ended() {
    let desk = Desk::new();
    desk.tiny_bench("--problems linear,wheel --out out").ok();
    let entries = || {
        let names = fs::read_dir(desk.path("out")).unwrap().map(|entry| entry.unwrap().file_name());
        names.collect::<std::collections::BTreeSet<_>>()
    };
    let before = (entries(), desk.read("out/trials.csv"));
    let said = desk.locus(["status", "out"]).ok();
    assert_eq!(said.stderr, "");
    let lines: Vec<&str> = said.stdout.lines().collect();
    assert!(lines[0].starts_with("out: not running; last trial recorded "), "{}", said.stdout);
    assert!(lines[1].starts_with("8 of 8 trials done; "), "{}", said.stdout);
    assert!(lines[1].ends_with(" seconds spent in trials; nothing left to run"), "{}", said.stdout);
    assert_eq!((lines[2], lines[5], lines.len()), ("linear", "wheel", 8));
    assert!(
        lines[3].starts_with("  uniform        ━") && lines[3].ends_with("  2/2  100.00  ended"),
        "{}",
        lines[3]
    );
    assert_eq!((entries(), desk.read("out/trials.csv")), before, "nothing is written");
    // The mean is that of the table.
    let table = desk.locus(["table", "out"]).ok().stdout;
    let mut of_linear = table.lines().skip_while(|line| *line != "linear");
    let mean = of_linear.find(|line| line.starts_with("  lin-full-post")).unwrap();
    let mean = mean.split_whitespace().nth(1).unwrap();
    assert_eq!(lines[4].split_whitespace().nth(3), Some(mean), "{}", lines[4]);
}

/// What the commands of a folder asked for, together: three trials of one policy, one of another.
#[test]
fn what_several_commands_asked_for_is_added_up() {
    let desk = Desk::new();
    let bench =
        |words: &str| desk.locus(format!("bench --steps 60 --out out {words}").split_whitespace()).ok();
    bench("--problems linear --policies lin-full-post --trials 3");
    bench("--problems linear,wheel --policies lin-full-post[prior_precision=1] --trials 1");
    let csv = desk.locus(["status", "out", "--format", "csv"]).ok().stdout;
    let mut lines = csv.lines();
    assert_eq!(lines.next(), Some("out,at_work,problem,policy,asked,done,failed,mean,seconds,seconds_left"));
    let lines: Vec<&str> = lines.collect();
    let counts = |start: &str| {
        let line = lines.iter().find(|line| line.starts_with(&format!("out,no,{start},"))).expect(start);
        line[start.len() + 8..].splitn(4, ',').take(3).collect::<Vec<_>>().join(" ")
    };
    assert_eq!(counts("linear,uniform"), "3 3 0");
    assert_eq!(counts("linear,lin-full-post"), "3 3 0");
    assert_eq!(counts("linear,lin-full-post[prior_precision=1]"), "1 1 0");
    assert_eq!(counts("wheel,uniform"), "1 1 0");
    assert_eq!(counts("wheel,lin-full-post"), "0 0 0");
    let markdown = desk.locus(["status", "out", "--format", "markdown"]).ok().stdout;
    assert!(markdown.contains(
        "| policy | linear | wheel |\n| --- | ---: | ---: |\n| `uniform` | 3 of 3: 100.00 | 1 of 1"
    ));
}

/// Linux tells who holds a lock.
#[cfg(target_os = "linux")]
#[test]
fn a_run_in_another_process_is_seen_and_not_disturbed() {
    let desk = Desk::new();
    let words =
        "bench --problems linear --policies lin-full-post --trials 5000 --steps 2000 --jobs 2 --out out";
    let mut command = desk.command(words.split_whitespace());
    let mut child = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    wait_for_first_row(&mut child, &desk.path("out"));
    let said: Vec<String> = (0..5).map(|_| desk.locus(["status", "out"]).ok().stdout).collect();
    assert!(child.try_wait().unwrap().is_none(), "the run has ended, which proves nothing");
    let second = desk.locus(words.split_whitespace());
    child.kill().unwrap();
    child.wait().unwrap();
    second.refused(&["another process is running trials in `out`"]);
    for text in &said {
        assert!(text.starts_with(&format!("out: running (process {})", child.id())), "{text}");
        assert!(text.contains(" of 10000 trials done; "), "{text}");
        assert!(text.contains("; the rest takes about ") && text.contains(" with 2 jobs\n"), "{text}");
    }
    let said = desk.locus(["status", "out"]).ok().stdout;
    assert!(said.starts_with("out: not running"), "{said}");
    assert!(said.contains(" of 10000 trials done; ") && said.contains("; the rest takes about "), "{said}");
}

#[test]
fn failures_are_told() {
    let desk = Desk::new();
    desk.tiny_bench(&format!("--problems linear --policies {FAILING} --out out"));
    let said = desk.locus(["status", "out"]).ok().stdout;
    assert!(said.contains("2 of 4 trials done, 2 failed; "), "{said}");
    assert!(said.contains("0/2       –  ended, 2 failed"), "{said}");
}

/// Two runs in one folder, each with a problem of its own; and a row that nobody asked for.
#[test]
fn what_nobody_asked_for_has_no_line() {
    let desk = Desk::new();
    desk.tiny_bench("--problems linear --policies lin-ucb --out out").ok();
    desk.tiny_bench("--problems wheel --policies lin-pool --out out").ok();
    let said = desk.locus(["status", "out"]).ok();
    assert!(!said.stdout.contains("0/0") && said.stderr.is_empty(), "{said:?}");
    assert_eq!(said.stdout.matches("2/2").count(), 4, "{}", said.stdout);
    let trials = desk.read("out/trials.csv");
    // Trials end in any order.
    let row = trials.lines().find(|line| line.starts_with("wheel,lin-pool,1,")).unwrap();
    let other = row.replace("lin-pool", "other");
    desk.write("out/trials.csv", format!("{trials}{other}\n"));
    let said = desk.locus(["status", "out"]).ok();
    assert!(
        said.stderr.contains("not shown: 1 of the rows, whose policy or problem is not in run.json"),
        "{said:?}"
    );
}

#[test]
fn a_run_that_has_just_begun_has_done_nothing() {
    let desk = Desk::new();
    desk.tiny_bench("--problems linear --out out").ok();
    desk.write("begun/run.json", desk.read("out/run.json"));
    let said = desk.locus(["status", "begun"]).ok();
    assert_eq!(said.stderr, "");
    let expected = "begun: not running\n\
                    0 of 4 trials done; 0.0 seconds spent in trials; no time estimate yet\n";
    assert!(said.stdout.starts_with(expected), "{}", said.stdout);
}

#[test]
fn what_is_damaged_is_said_and_the_rest_is_shown() {
    let desk = Desk::new();
    desk.tiny_bench("--problems linear --out out").ok();
    let trials = desk.read("out/trials.csv");
    let mut lines: Vec<&str> = trials.lines().collect();
    lines[2] = "linear,oops";
    desk.write("out/trials.csv", lines.join("\n") + "\nlinear,torn");
    let said = desk.locus(["status", "out"]).ok();
    assert!(said.stderr.starts_with("warning: `out/trials.csv`, line 3: found 2 fields"), "{}", said.stderr);
    assert!(said.stdout.contains("\n3 of 4 trials done; "), "{}", said.stdout);

    desk.write("out/run.json", "{\"format\": 99}");
    let said = desk.locus(["status", "out"]).ok();
    assert!(said.stderr.contains("written in format 99"), "{}", said.stderr);
    assert!(said.stdout.contains("\n3 trials done; the requested number is unknown; "), "{}", said.stdout);
    fs::remove_file(desk.path("out/run.json")).unwrap();
    let said = desk.locus(["status", "out"]).ok();
    assert!(
        said.stderr.contains("warning: `out` holds no run.json: the requested trials are unknown"),
        "{}",
        said.stderr
    );

    desk.tiny_bench("--problems linear --out other").ok();
    desk.write("other/trials.csv", "a,b\n1,2\n");
    desk.locus(["status", "other"]).refused(&["other/trials.csv`, line 1: expected the header"]);
}

#[test]
fn a_folder_that_is_no_run_is_refused() {
    let desk = Desk::new();
    desk.locus(["status"]).refused(&["<OUT>..."]);
    desk.locus(["status", "nowhere"]).refused(&["there is no folder `nowhere`; expected a folder that"]);
    desk.write("empty/readme", "");
    desk.locus(["status", "empty", "--format", "csv"]).refused(&["`empty` holds no trials.csv"]);
    desk.locus(["status", "empty", "--format", "latex"]).refused(&["'latex'", "text, markdown, csv"]);
    // Others are shown all the same.
    desk.tiny_bench("--problems linear --out out").ok();
    let said = desk.locus(["status", "empty", "out", "nowhere"]);
    assert_eq!(said.code, Some(2), "{said:?}");
    assert_eq!(said.stderr.matches("error: ").count(), 2, "{}", said.stderr);
    assert!(said.stdout.starts_with("out: not running"), "{}", said.stdout);
}
