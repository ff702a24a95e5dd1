//! Does learning stay as fast, and memory as small, over a million outcomes?
//!
//! Each policy decides and learns on a linear problem with 54 features and 7 actions. Per 10 000 outcomes: the seconds that both
//! took, and the median, the 99th percentile and the longest `learn`. `--figure FILE` draws them over the number of outcomes. Run
//! with `taskset -c 0 cargo bench -p locus-bandits --bench long_run -- [POLICIES] [--outcomes N] [--figure FILE]`.
#![allow(clippy::disallowed_methods, reason = "a benchmark reads the clock")]

use std::fmt::Write as _;
use std::time::Instant;

use locus::{Outcome, Policy, Registry, Request, Seed, Shape};

const POLICIES: &str = "lin-full-post,lin-pool,locus,neural-linear,lu-gauss";
const SHAPE: Shape = Shape::new(54, 7);
/// Outcomes per measured part.
const PART: u64 = 10_000;

/// What 10 000 outcomes took.
#[derive(Clone, Copy)]
struct Part {
    /// Deciding and learning.
    seconds: f64,
    /// Microseconds of `learn`.
    median: f64,
    p99: f64,
    longest: f64,
}

struct Arguments {
    policies: String,
    n_outcomes: u64,
    figure: Option<String>,
}

fn main() {
    let Some(Arguments { policies, n_outcomes, figure }) = arguments() else { return };
    let specs = Registry::standard().parse_list(&policies).unwrap_or_else(|error| panic!("{error}"));
    println!(
        "| policy | outcomes | s per 10 000 | `learn`, µs: median | 99th percentile | longest | seconds / those at 10 000 | memory, MB |"
    );
    println!("|---|---:|---:|---:|---:|---:|---:|---:|");
    let mut lines = Vec::new();
    for spec in specs {
        let name = spec.to_string();
        let mut policy = spec.build(SHAPE, Seed::new(1)).expect("a policy for this shape");
        let world = World::new();
        let mut parts: Vec<Part> = Vec::new();
        for first in (0..n_outcomes).step_by(PART as usize) {
            let part = measure(&mut *policy, &world, first);
            parts.push(part);
            let n = first + PART;
            // Few lines, closer to each other at the start.
            if is_told(parts.len()) || n >= n_outcomes {
                let Part { seconds, median, p99, longest } = part;
                println!(
                    "| `{name}` | {n} | {seconds:.2} | {median:.1} | {p99:.0} | {longest:.0} | {:.2} | {} |",
                    seconds / parts[0].seconds,
                    megabytes().map_or("–".to_owned(), |mb| format!("{mb:.0}")),
                );
            }
        }
        lines.push((name, parts));
    }
    if let Some(file) = figure {
        std::fs::write(&file, draw(&lines)).unwrap_or_else(|error| panic!("{file}: {error}"));
    }
}

/// `None` if the benchmark is only checked, not run.
fn arguments() -> Option<Arguments> {
    let mut found = Arguments { policies: POLICIES.to_owned(), n_outcomes: 1_000_000, figure: None };
    let mut words = std::env::args().skip(1);
    while let Some(word) = words.next() {
        match word.as_str() {
            "--test" => return None,
            "--bench" => {}
            "--outcomes" => {
                let n = words.next().and_then(|n| n.parse().ok());
                found.n_outcomes = n.expect("--outcomes needs a number");
            }
            "--figure" => found.figure = Some(words.next().expect("--figure needs a file")),
            _ => found.policies = word,
        }
    }
    Some(found)
}

fn is_told(n_parts: usize) -> bool {
    [1, 2, 3, 5, 10, 20, 30, 50].contains(&n_parts)
}

/// Rewards are linear in the context, with noise.
struct World {
    /// [A, C]
    coefficients: Vec<f64>,
}

impl World {
    fn new() -> Self {
        let mut rng = Seed::new(2).stream("model", 0);
        let n = SHAPE.n_actions * SHAPE.n_features;
        Self { coefficients: (0..n).map(|_| rng.normal() / (SHAPE.n_features as f64).sqrt()).collect() }
    }

    fn reward(&self, context: &[f32], action: usize) -> f64 {
        let coefficients = &self.coefficients[action * SHAPE.n_features..][..SHAPE.n_features];
        context.iter().zip(coefficients).map(|(x, coefficient)| f64::from(*x) * coefficient).sum()
    }
}

fn measure(policy: &mut dyn Policy, world: &World, first: u64) -> Part {
    let mut context = vec![0.0; SHAPE.n_features];
    let (mut seconds, mut learning) = (0.0, Vec::with_capacity(PART as usize));
    for round in first..first + PART {
        let mut rng = Seed::new(2).stream("contexts", round);
        context.iter_mut().for_each(|feature| *feature = rng.normal() as f32);
        let before = Instant::now();
        let action = policy.choose(Request::new(round, &context)).expect("a choice").action;
        seconds += before.elapsed().as_secs_f64();
        let reward = world.reward(&context, action) + 0.5 * rng.normal();
        let before = Instant::now();
        policy.learn(Outcome::new(round, &context, action, reward)).expect("an outcome");
        let taken = before.elapsed().as_secs_f64();
        seconds += taken;
        learning.push(1e6 * taken);
    }
    learning.sort_by(f64::total_cmp);
    let at = |share: f64| learning[((learning.len() - 1) as f64 * share) as usize];
    Part { seconds, median: at(0.5), p99: at(0.99), longest: at(1.0) }
}

/// The most memory that this process has used so far.
fn megabytes() -> Option<f64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find(|line| line.starts_with("VmHWM:"))?;
    line.split_whitespace().nth(1)?.parse().ok().map(|kilobytes: f64| kilobytes / 1e3)
}

/// Every measure in a panel of its own, over the number of outcomes, both axes logarithmic.
fn draw(lines: &[(String, Vec<Part>)]) -> String {
    const COLORS: [&str; 6] = ["#4269d0", "#c98500", "#ff725c", "#3a9a86", "#9c6bd0", "#8a8f98"];
    type Measure = fn(&Part) -> f64;
    const PANELS: [(&str, Measure); 4] = [
        ("seconds per 10,000 outcomes", |part| part.seconds),
        ("learn, median, ms", |part| part.median / 1e3),
        ("learn, 99th percentile, ms", |part| part.p99 / 1e3),
        ("learn, longest, ms", |part| part.longest / 1e3),
    ];
    const SIZE: (f64, f64) = (340.0, 230.0);
    let n_parts = lines.iter().map(|(_, parts)| parts.len()).max().unwrap_or(1).max(2);
    let mut svg = String::from(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 800 620\" font-family=\"sans-serif\" font-size=\"12\" \
         role=\"img\" aria-label=\"Cost of learning over the number of outcomes\">\n\
         <rect width=\"800\" height=\"620\" fill=\"#fff\"/>\n",
    );
    for (panel, (title, value)) in PANELS.iter().enumerate() {
        let (left, top) = (50.0 + 390.0 * (panel % 2) as f64, 30.0 + 280.0 * (panel / 2) as f64);
        let values = || lines.iter().flat_map(|(_, parts)| parts).map(value).filter(|value| *value > 0.0);
        let low = values().fold(f64::INFINITY, f64::min).log10().floor();
        let high = values().fold(0.0, f64::max).log10().ceil().max(low + 1.0);
        let x = |part: usize| left + SIZE.0 * ((part + 1) as f64).ln() / (n_parts as f64).ln();
        let y = |value: f64| top + SIZE.1 * (1.0 - (value.log10() - low) / (high - low));
        let _ = writeln!(svg, "<text x=\"{left}\" y=\"{}\" font-weight=\"bold\">{title}</text>", top - 10.0);
        for decade in low as i32..=high as i32 {
            let (value, line) = (10_f64.powi(decade), y(10_f64.powi(decade)));
            let _ = writeln!(
                svg,
                "<path d=\"M{left} {line:.1}h{}\" stroke=\"#ddd\"/><text x=\"{}\" y=\"{:.1}\" \
                 text-anchor=\"end\">{value}</text>",
                SIZE.0,
                left - 5.0,
                line + 4.0
            );
        }
        for part in [1, 10, 100].into_iter().filter(|part| *part <= n_parts) {
            let _ = writeln!(
                svg,
                "<text x=\"{:.1}\" y=\"{}\" text-anchor=\"middle\">{}</text>",
                x(part - 1),
                top + SIZE.1 + 16.0,
                part as u64 * PART
            );
        }
        for ((_, parts), color) in lines.iter().zip(COLORS.iter().cycle()) {
            let points: Vec<String> = parts
                .iter()
                .enumerate()
                .map(|(part, measured)| format!("{:.1},{:.1}", x(part), y(value(measured))))
                .collect();
            let points = points.join(" ");
            let _ = writeln!(
                svg,
                "<polyline points=\"{points}\" fill=\"none\" stroke=\"{color}\" stroke-width=\"1.8\"/>"
            );
        }
    }
    for (index, ((name, _), color)) in lines.iter().zip(COLORS.iter().cycle()).enumerate() {
        let x = 50 + 150 * index;
        let _ = writeln!(
            svg,
            "<path d=\"M{x} 595h20\" stroke=\"{color}\" stroke-width=\"3\"/><text x=\"{}\" y=\"599\">{name}</text>",
            x + 26
        );
    }
    svg.push_str("</svg>\n");
    svg
}
