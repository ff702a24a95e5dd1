//! The live view, on a pseudo-terminal that `script` (util-linux) provides. Without `script`, these tests say so and pass.

use std::io::{BufRead, BufReader, Write};
use std::process::{Child, ChildStdout, Command, Stdio};
use std::thread;
use std::time::Duration;

use locus_bench::record::read_trials;

use crate::failing::FAILING;
use crate::harness::{Desk, TINY, wait_for_first_row};
use crate::terminal::Terminal;

/// A minute of work, which tests interrupt as soon as they have seen what they wait for.
const LONG: &str =
    "bench --problems linear,wheel --policies lin-full-post --trials 5000 --steps 2000 --jobs 2 --out out";

/// The binary, running on a terminal.
struct Session {
    script: Child,
    output: BufReader<ChildStdout>,
    terminal: Terminal,
    /// All that was written to the terminal.
    written: String,
}

impl Session {
    /// `None` without `script`.
    fn start(
        desk: &Desk,
        words: &str,
        (width, height): (usize, usize),
        variables: &[(&str, &str)],
    ) -> Option<Self> {
        let locus = desk.command(words.split_whitespace());
        let quoted = |word: &std::ffi::OsStr| format!("'{}'", word.to_str().unwrap());
        let words: Vec<String> =
            std::iter::once(locus.get_program()).chain(locus.get_args()).map(quoted).collect();
        // A run whose terminal goes away gets a hangup signal, which `nohup` ignores in the same way.
        let line = format!("trap '' HUP; stty rows {height} cols {width}; exec {}", words.join(" "));
        let mut script = Command::new("script");
        script.args(["-q", "-e", "-c", &line, "/dev/null"]).current_dir(desk.path(""));
        script.env_remove("LOCUS_DATA").env_remove("NO_COLOR").env("TERM", "xterm");
        script.envs(variables.iter().copied());
        match script.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn() {
            Ok(mut script) => {
                let output = BufReader::new(script.stdout.take().unwrap());
                let terminal = Terminal::new(width, height);
                Some(Self { script, output, terminal, written: String::new() })
            }
            Err(error) => {
                eprintln!("skipped, no terminal is available: {error}");
                None
            }
        }
    }

    /// Shows what comes next, up to a carriage return: every frame begins with one, so that the frame before is whole then.
    fn read(&mut self) -> bool {
        let mut bytes = Vec::new();
        self.output.read_until(b'\r', &mut bytes).unwrap();
        let text = String::from_utf8(bytes).unwrap();
        self.terminal.write(&text);
        self.written.push_str(&text);
        !text.is_empty()
    }

    /// Waits until the screen is as expected, and returns it.
    #[track_caller]
    fn wait_for(&mut self, is_expected: impl Fn(&[String]) -> bool) -> Vec<String> {
        while self.read() {
            let screen = self.terminal.screen();
            if is_expected(&screen) {
                return screen;
            }
        }
        panic!("the run ended before that was on the screen: {}", self.terminal.text());
    }

    fn press_ctrl_c(&mut self) {
        self.script.stdin.as_mut().unwrap().write_all(b"\x03").unwrap();
    }

    /// Waits for the end, and returns the exit code and all text of the terminal, which holds nothing of the live view.
    #[track_caller]
    fn end(&mut self) -> (Option<i32>, String) {
        while self.read() {}
        let text = self.terminal.text();
        // The table of an interrupted run may say that a trial was left out.
        for part in ["━", "╸", "─", " left,", " left\n", " elapsed"] {
            assert!(!text.contains(part), "{part:?} of the live view stayed: {text}");
        }
        (self.script.wait().unwrap().code(), text)
    }
}

/// What is printed at the first Ctrl-C.
const STOPPING: &str = "interrupted: stopping; finished trials are kept, running ones are discarded";

fn is_bar(line: &str) -> bool {
    line.starts_with(['━', '╸', '─'])
}

#[test]
fn it_shows_the_run_and_every_policy_and_ctrl_c_leaves_the_terminal_clean() {
    let desk = Desk::new();
    let Some(mut session) = Session::start(&desk, LONG, (80, 24), &[]) else { return };
    let lines = session.wait_for(|lines| {
        lines.len() == 4
            && lines[1..].iter().all(|line| {
                is_bar(line) && line.contains(" left") && !line.contains("? left") && !line.contains('–')
            })
    });
    assert_eq!(lines[0], "20000 trials of 2000 steps: 2 problems × 2 policies × 5000 trials each");
    let lines = &lines[1..];
    let words: Vec<Vec<&str>> = lines.iter().map(|line| line.split_whitespace().collect()).collect();
    assert!(words[0][2..5] == ["of", "20000", "trials,"] && lines[0].ends_with(" elapsed"), "{lines:#?}");
    assert!(words[1][1] == "uniform" && words[1][2].ends_with("/10000"), "{lines:#?}");
    assert_eq!(words[1][3..5], ["100.00", "%"], "{lines:#?}");
    assert!(words[2][1] == "lin-full-post" && words[2][2].ends_with("/10000"), "{lines:#?}");
    session.press_ctrl_c();
    let (code, text) = session.end();
    assert_eq!(code, Some(130), "{text}");
    let (_, below) = text.split_once('\n').unwrap();
    assert!(below.starts_with(&format!("{STOPPING}\n\n")), "{text}");
    assert!(text.contains(" discarded; the same command resumes the run\n"), "{text}");
}

/// This trial would end after hours: its first step trains for that long, and the first Ctrl-C waits for the step.
#[test]
fn a_second_ctrl_c_exits_at_once() {
    let desk = Desk::new();
    let slow = "bench --problems linear --policies neural-linear[minibatches=1000000,train_every=1] --trials 1 \
                --steps 60 --jobs 1 --out out";
    let Some(mut session) = Session::start(&desk, slow, (80, 24), &[]) else { return };
    session.wait_for(|lines| lines.len() == 4 && lines[1].contains(" 1 of 2 trials") && is_bar(&lines[3]));
    session.press_ctrl_c();
    session.wait_for(|lines| {
        lines[1].starts_with("interrupted: ") && lines.iter().skip(2).all(|line| is_bar(line))
    });
    session.press_ctrl_c();
    let (code, text) = session.end();
    let headline = "2 trials of 60 steps: 1 problem × 2 policies × 1 trial each";
    assert_eq!((code, text.trim_end()), (Some(130), &*format!("{headline}\n{STOPPING}")));
}

/// Five bars, and room for three.
#[test]
fn it_fits_a_small_terminal() {
    let desk = Desk::new();
    let words = LONG.replace("lin-full-post", "lin-full-post,lin-ucb,lin-pool");
    let Some(mut session) = Session::start(&desk, &words, (32, 3), &[]) else { return };
    session.wait_for(|lines| {
        let starts = ["0 of 40000 trials, ? le", "uniform        0/10000", "lin-full-post  0/10000"];
        lines.len() == 3 && lines.iter().zip(starts).all(|(line, start)| *line == format!("──────── {start}"))
    });
    session.press_ctrl_c();
    assert_eq!(session.end().0, Some(130));
}

#[test]
fn a_run_that_ends_leaves_its_table_and_no_bars() {
    let desk = Desk::new();
    let words = format!("bench --problems linear --out out {}", TINY.join(" "));
    let Some(mut session) = Session::start(&desk, &words, (80, 24), &[]) else { return };
    let (code, text) = session.end();
    assert_eq!(code, Some(0), "{text}");
    assert!(session.written.contains(" 0 of 4 trials, ? left, "), "{}", session.written);
    assert!(
        text.contains(" each\n\nlinear\n  policy ")
            && text.contains("4 trials ran, 0 done before, 0 failed\n")
    );
}

/// On a terminal, no word of what stands below a table is cut; elsewhere every sentence stays one line.
#[test]
fn sentences_below_a_table_wrap_at_words() {
    let desk = Desk::new();
    desk.tiny_bench("--problems linear --out out").ok();
    let sentence = "Mean rank and mean value are over the problems shown, ranks among the policies shown.";
    assert!(desk.locus(["table", "out"]).ok().stdout.contains(&format!("\n{sentence}\n")));
    let Some(mut session) = Session::start(&desk, "table out", (57, 50), &[]) else { return };
    let (code, text) = session.end();
    assert_eq!(code, Some(0), "{text}");
    assert!(text.lines().collect::<Vec<_>>().join(" ").contains(sentence), "{text}");
}

#[test]
fn failures_stay_above() {
    let desk = Desk::new();
    let words = format!("bench --problems linear --policies {FAILING} --out out {}", TINY.join(" "));
    let Some(mut session) = Session::start(&desk, &words, (200, 30), &[]) else { return };
    let (code, text) = session.end();
    assert_eq!(code, Some(1), "{text}");
    for trial in 0..2 {
        let line = format!("{FAILING} on linear, trial {trial}: failed: round 0: ");
        assert!(text.lines().any(|shown| shown.starts_with(&line)), "{text}");
    }
}

#[test]
fn an_error_leaves_the_terminal_clean() {
    let desk = Desk::new();
    desk.write("out/curves", "a file where a folder should be");
    let Some(mut session) = Session::start(&desk, LONG, (80, 24), &[]) else { return };
    let (code, text) = session.end();
    assert_eq!(code, Some(1), "{text}");
    assert!(text.contains("error: cannot create the folder `out/curves`: "), "{text}");
}

/// The run goes on when its terminal is closed, and trials that fail then are recorded too.
#[test]
fn a_terminal_that_goes_away_does_not_end_a_run() {
    let desk = Desk::new();
    let words = format!(
        "bench --problems linear --policies {FAILING},lin-full-post --trials 100 --steps 2000 --jobs 2 --out out"
    );
    let Some(mut session) = Session::start(&desk, &words, (80, 24), &[]) else { return };
    wait_for_first_row(&mut session.script, &desk.path("out"));
    session.script.kill().unwrap();
    session.script.wait().unwrap();
    let n_rows = || read_trials(&desk.path("out")).map_or(0, |rows| rows.len());
    for _ in 0..6000 {
        if n_rows() == 300 {
            return;
        }
        thread::sleep(Duration::from_millis(10));
    }
    panic!("{} of 300 trials were recorded", n_rows());
}

#[test]
fn colors_can_be_turned_off() {
    let desk = Desk::new();
    let written = |out: &str, variables: &[(&str, &str)]| {
        let words = format!("bench --problems linear --out {out} {}", TINY.join(" "));
        let mut session = Session::start(&desk, &words, (80, 24), variables)?;
        session.end();
        Some(session.written)
    };
    let Some(with) = written("with", &[]) else { return };
    assert!(with.contains("\x1b[2m─"), "the rest of a bar is dim");
    let without = written("without", &[("NO_COLOR", "1")]).unwrap();
    assert!(without.contains('─') && !without.contains("m─"), "{without:?}");
}

/// A terminal that cannot move its cursor gets lines, as a pipe does.
#[test]
fn a_dumb_terminal_gets_lines() {
    let desk = Desk::new();
    let words = "bench --problems linear --trials 1 --steps 60 --jobs 1 --out out";
    let Some(mut session) = Session::start(&desk, words, (80, 24), &[("TERM", "dumb")]) else { return };
    let (code, text) = session.end();
    assert_eq!(code, Some(0), "{text}");
    assert!(text.contains("[2/2] ") && !session.written.contains('\x1b'), "{}", session.written);
}
