//! `locus data fetch`: downloads missing files, with a progress bar on a terminal and lines elsewhere.

use std::fmt;
use std::path::Path;
use std::thread;
use std::time::Duration;

use anyhow::{Context, Result};
use indicatif::{DecimalBytes, HumanDuration, ProgressBar, ProgressDrawTarget, ProgressState, ProgressStyle};
use locus_bench::data::catalog::CatalogFile;
use locus_bench::data::fetch::{Fetched, Fetcher, Watcher, select};

use crate::args::FetchArgs;
use crate::data::{describe, folder, state, warn_of_another};
use crate::output::{print, tell};
use crate::words::{count, shell_word};
use crate::{FAILED, INTERRUPTED};

/// Downloads the missing files. A file that fails does not stop the others.
pub(crate) fn run(args: &FetchArgs) -> Result<u8> {
    let files = select(&args.names)?;
    let folder = folder(&args.data)?;
    let mut fetcher = match Fetcher::new(folder, args.mirror.as_deref(), args.retries) {
        Err(error) if error.is_io() => {
            tell(&format!("error: {error}"));
            return Ok(FAILED);
        }
        fetcher => fetcher?,
    };
    let mut screen = Screen::new();
    end_on_ctrl_c(screen.bar.clone())?;
    let mut n_failed = 0;
    for file in &files {
        let fetched = fetcher.fetch(file, &mut screen);
        screen.bar.finish_and_clear();
        match fetched {
            Ok(Fetched::WasThere { path }) => {
                let found = format!("{} already exists; `locus data` checks its checksum", path.display());
                print(&describe(file, &found))?;
            }
            Ok(Fetched::Came { from, state: found }) => {
                print(&describe(file, &format!("{}\n    from {from}", state(file, &found))))?;
                warn_of_another(file, &found);
            }
            Err(error) => {
                n_failed += 1;
                tell(&format!("error: {error}"));
                if error.is_io() {
                    tell(
                        "hint: free some space, or name another folder with --data, and run the command again",
                    );
                    return Ok(FAILED);
                }
            }
        }
    }
    print(&closing_words(folder, files.len() - n_failed, n_failed))?;
    Ok(if n_failed == 0 { 0 } else { FAILED })
}

fn closing_words(folder: &Path, n_there: usize, n_failed: usize) -> String {
    let folder = shell_word(folder);
    match n_failed {
        0 => format!(
            "\n{} available. Please cite the sources above; `locus bench --suite paper --data {folder}` runs the benchmark\n",
            count(n_there, "file")
        ),
        n_failed => format!(
            "\n{} available, {n_failed} failed: run the same command again to retry\n",
            count(n_there, "file")
        ),
    }
}

/// A bar, or lines without a terminal.
struct Screen {
    /// Hidden without a terminal; it still measures the duration of a download.
    bar: ProgressBar,
    is_terminal: bool,
    /// Tenths of the file under way that a line was written for.
    n_tenths: u64,
}

/// A quick download needs no progress lines.
const BYTES_WORTH_LINES: u64 = 10_000_000;

impl Screen {
    fn new() -> Self {
        let bar = ProgressBar::with_draw_target(None, ProgressDrawTarget::stderr());
        let is_terminal = !bar.is_hidden();
        // Nothing to show before the first bytes.
        if let Ok(style) = ProgressStyle::with_template("") {
            bar.set_style(style);
        }
        Self { bar, is_terminal, n_tenths: 0 }
    }

    fn say(&self, line: &str) {
        self.bar.suspend(|| tell(line));
    }
}

impl Watcher for Screen {
    fn asking(&mut self, file: &CatalogFile, address: &str) {
        self.say(&format!("{} from {address}", file.name));
    }

    fn receiving(&mut self, total: Option<u64>) {
        let template = match total {
            Some(_) => {
                "    {bar:32} {decimal_bytes} of {decimal_total_bytes}, {decimal_bytes_per_sec}, {left} left"
            }
            None => "    {spinner} {decimal_bytes}, {decimal_bytes_per_sec}",
        };
        if let Ok(style) = ProgressStyle::with_template(template) {
            self.bar.set_style(style.with_key("left", time_left).progress_chars("━╸─"));
        }
        match total {
            Some(total) => self.bar.set_length(total),
            None => self.bar.unset_length(),
        }
        self.bar.reset();
        self.n_tenths = 0;
        if self.is_terminal {
            // Updates the time while no bytes arrive.
            self.bar.enable_steady_tick(Duration::from_millis(500));
        }
    }

    fn received(&mut self, n_bytes: u64) {
        self.bar.set_position(n_bytes);
        if let Some(total) =
            self.bar.length().filter(|total| !self.is_terminal && *total >= BYTES_WORTH_LINES)
        {
            let n_tenths = 10 * n_bytes / total;
            if n_tenths > self.n_tenths && n_bytes < total {
                self.n_tenths = n_tenths;
                let rate = n_bytes as f64 / self.bar.elapsed().as_secs_f64().max(1e-3);
                tell(&format!(
                    "    {} % of {}, {}/s, {:.0} s left",
                    10 * n_tenths,
                    DecimalBytes(total),
                    DecimalBytes(rate as u64),
                    (total - n_bytes) as f64 / rate.max(1.0)
                ));
            }
        }
    }

    fn pausing(&mut self, _address: &str, problem: &str, pause: Duration) {
        self.bar.disable_steady_tick();
        self.say(&format!("    {problem}; retrying in {} s", pause.as_secs()));
    }

    fn pause(&mut self, pause: Duration) {
        thread::sleep(pause);
    }

    fn gave_up(&mut self, _address: &str, problem: &str) {
        self.bar.finish_and_clear();
        self.say(&format!("    {problem}"));
    }

    fn unpacking(&mut self, _file: &CatalogFile) {
        let n_bytes = self.bar.position();
        self.bar.finish_and_clear();
        self.say(&format!("    {} received; unpacking and computing the checksum", DecimalBytes(n_bytes)));
    }
}

/// Before the first bytes the time left is unknown, which indicatif's own `eta` shows as 0.
fn time_left(state: &ProgressState, out: &mut dyn fmt::Write) {
    let _ = match state.pos() {
        0 => out.write_char('?'),
        _ => write!(out, "{:#}", HumanDuration(state.eta())),
    };
}

/// Ends the process at once: a file gets its final name only when it is complete, and the next run removes the temporary one.
fn end_on_ctrl_c(bar: ProgressBar) -> Result<()> {
    ctrlc::set_handler(move || {
        bar.suspend(|| tell("interrupted: run the same command again to download the missing files"));
        std::process::exit(i32::from(INTERRUPTED));
    })
    .context("cannot catch Ctrl-C")
}
