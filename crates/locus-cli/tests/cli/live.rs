//! The live view, on a pseudo-terminal that `script` (util-linux) provides; where there is none, these tests say so.

use std::io::Write;
use std::process::{Child, Command, Stdio};

use crate::failing::FAILING;
use crate::harness::{Desk, Said, wait_for_first_row};
use crate::terminal::Terminal;

/// About a second of work: time enough for a few frames.
const LONG: &str =
    "bench --problems linear,wheel --policies lin-full-post --trials 80 --steps 2000 --jobs 2 --out out";

/// The binary, about to run on a terminal of this size. `None` where there is no `script`.
fn start(
    desk: &Desk,
    words: &str,
    (width, height): (usize, usize),
    variables: &[(&str, &str)],
) -> Option<Child> {
    let locus = desk.command(words.split_whitespace());
    let quoted = |word: &std::ffi::OsStr| format!("'{}'", word.to_str().unwrap());
    let words: Vec<String> =
        std::iter::once(locus.get_program()).chain(locus.get_args()).map(quoted).collect();
    let line = format!("stty rows {height} cols {width}; exec {}", words.join(" "));
    let mut script = Command::new("script");
    script.args(["-q", "-e", "-c", &line, "/dev/null"]).current_dir(desk.path(""));
    script.env_remove("LOCUS_DATA").env_remove("NO_COLOR").env("TERM", "xterm");
    script.envs(variables.iter().copied());
    match script.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn() {
        Ok(child) => Some(child),
        Err(error) => {
            eprintln!("skipped, no terminal can be had: {error}");
            None
        }
    }
}

/// Waits for the end and returns what was on the terminal.
fn end(child: Child, (width, height): (usize, usize)) -> (Said, Terminal) {
    let said = Said::from(child.wait_with_output().unwrap());
    let mut terminal = Terminal::new(width, height);
    terminal.write(&said.stdout);
    (said, terminal)
}

fn run(
    desk: &Desk,
    words: &str,
    size: (usize, usize),
    variables: &[(&str, &str)],
) -> Option<(Said, Terminal)> {
    Some(end(start(desk, words, size, variables)?, size))
}

/// Nothing of the view is left, and what was said before and after it is.
#[track_caller]
fn is_clean(terminal: &Terminal) {
    // The table of an interrupted run may say that a trial was left out.
    let text = terminal.text().replace(" left out, ", "");
    for part in ["━", "─", "now: ", " left"] {
        assert!(!text.contains(part), "{part} is left behind: {text}");
    }
}

#[test]
fn it_shows_every_policy_on_every_problem_and_goes_away() {
    let desk = Desk::new();
    let Some((said, terminal)) = run(&desk, LONG, (80, 24), &[]) else { return };
    assert_eq!(said.code, Some(0), "{said:?}");
    assert!(terminal.frames.len() > 3, "{} frames", terminal.frames.len());
    assert_eq!(terminal.n_broken_in_frames, 0);
    let frame = terminal.frames.iter().rev().find(|frame| frame.contains("now: ")).expect("a frame");
    let lines: Vec<&str> = frame.lines().collect();
    assert!(
        lines[0].starts_with('━') && lines[0].contains(" of 320 trials") && lines[0].ends_with(" left"),
        "{frame}"
    );
    assert!(lines[1].contains(" on linear, trial ") || lines[1].contains(" on wheel, trial "), "{frame}");
    assert_eq!((lines[2], lines[5], lines.len()), ("linear", "wheel", 9), "{frame}");
    for (line, policy) in [(3, "uniform"), (4, "lin-full-post"), (6, "uniform"), (7, "lin-full-post")] {
        let words: Vec<&str> = lines[line].split_whitespace().collect();
        assert_eq!(words[0], policy, "{frame}");
        assert!(words[1].starts_with('━') && words[2].ends_with("/80"), "{frame}");
        assert!(policy != "uniform" || words[3] == "100.00", "{frame}");
    }
    is_clean(&terminal);
    assert!(terminal.text().contains("320 trials ran, 0 done before, 0 failed\n"), "{}", terminal.text());
}

#[test]
fn it_fits_a_small_terminal() {
    let desk = Desk::new();
    let size = (32, 5);
    let words = LONG.replace("--trials 80", "--trials 40");
    let Some((said, terminal)) = run(&desk, &words, size, &[]) else { return };
    assert_eq!(said.code, Some(0), "{said:?}");
    let frame = terminal.frames.iter().rev().find(|frame| frame.contains("now: ")).expect("a frame");
    let lines: Vec<&str> = frame.lines().collect();
    assert!(lines.len() <= 5 && lines[0].starts_with('━'), "{frame}");
    assert_eq!(terminal.n_broken_in_frames, 0);
    is_clean(&terminal);
}

#[test]
fn ctrl_c_leaves_the_terminal_clean() {
    let desk = Desk::new();
    let Some(mut child) = start(&desk, &LONG.replace("--trials 80", "--trials 5000"), (80, 24), &[]) else {
        return;
    };
    wait_for_first_row(&mut child, &desk.path("out"));
    child.stdin.as_mut().unwrap().write_all(b"\x03").unwrap();
    let (said, terminal) = end(child, (80, 24));
    assert_eq!(said.code, Some(130), "{said:?}");
    is_clean(&terminal);
    let text = terminal.text();
    assert!(text.contains("interrupted: ending the trials under way\n"), "{text}");
    assert!(text.contains("interrupted: the same command goes on where this one stopped\n"), "{text}");
}

#[test]
fn failures_stay_above() {
    let desk = Desk::new();
    let words = format!("bench --problems linear --policies {FAILING} --trials 2 --steps 60 --out out");
    let Some((said, terminal)) = run(&desk, &words, (200, 30), &[]) else { return };
    assert_eq!(said.code, Some(1), "{said:?}");
    for trial in 0..2 {
        let line = format!("{FAILING} on linear, trial {trial}: failed: round 0: ");
        assert!(terminal.text().lines().any(|shown| shown.starts_with(&line)), "{}", terminal.text());
    }
    is_clean(&terminal);
}

#[test]
fn an_error_leaves_the_terminal_clean() {
    let desk = Desk::new();
    desk.write("out/curves", "a file where a folder should be");
    let Some((said, terminal)) = run(&desk, LONG, (80, 24), &[]) else { return };
    assert_eq!(said.code, Some(1), "{said:?}");
    assert!(
        terminal.text().contains("error: cannot create the folder `out/curves`: "),
        "{}",
        terminal.text()
    );
    is_clean(&terminal);
}

#[test]
fn colors_can_be_turned_off() {
    let desk = Desk::new();
    let Some((with, _)) = run(&desk, &LONG.replace("--out out", "--out with"), (80, 24), &[]) else { return };
    assert!(with.stdout.contains("\x1b[2m─"), "the rest of a bar is dim");
    let without = LONG.replace("--out out", "--out without");
    let (without, terminal) = run(&desk, &without, (80, 24), &[("NO_COLOR", "1")]).unwrap();
    assert!(
        without.stdout.contains('─') && !without.stdout.contains("m─") && !without.stdout.contains("\x1b[1m")
    );
    is_clean(&terminal);
}

/// A terminal that cannot move its cursor gets lines, as a pipe does.
#[test]
fn a_dumb_terminal_gets_lines() {
    let desk = Desk::new();
    let words = "bench --problems linear --trials 1 --steps 60 --jobs 1 --out out";
    let Some((said, terminal)) = run(&desk, words, (80, 24), &[("TERM", "dumb")]) else { return };
    assert_eq!(said.code, Some(0), "{said:?}");
    assert!(terminal.frames.is_empty());
    assert!(terminal.text().contains("[2/2] "), "{}", terminal.text());
}
