//! `--npz FILE`: anybody's own rounds, run in their own order.

use std::io::{Cursor, Write};

use zip::{CompressionMethod, ZipWriter, write::SimpleFileOptions};

use crate::harness::{Desk, id};

const ROUNDS: usize = 70;

/// Numbers as numpy would save them: rows of `width`, or one dimension where there is no width.
fn npy(values: &[f64], width: Option<usize>, dtype: &str) -> Vec<u8> {
    let shape = match width {
        Some(width) => format!("({}, {width})", values.len() / width),
        None => format!("({},)", values.len()),
    };
    let header = format!("{{'descr': '{dtype}', 'fortran_order': False, 'shape': {shape}, }}\n");
    let mut bytes = b"\x93NUMPY\x01\x00".to_vec();
    bytes.extend((header.len() as u16).to_le_bytes());
    bytes.extend(header.as_bytes());
    for value in values {
        match dtype {
            "<f4" => bytes.extend((*value as f32).to_le_bytes()),
            "<f8" => bytes.extend(value.to_le_bytes()),
            "<i8" => bytes.extend((*value as i64).to_le_bytes()),
            "|b1" => bytes.push(*value as u8),
            other => panic!("unknown dtype {other}"),
        }
    }
    bytes
}

fn npz(members: &[(&str, Vec<u8>)], method: CompressionMethod) -> Vec<u8> {
    let mut writer = ZipWriter::new(Cursor::new(Vec::new()));
    for (name, bytes) in members {
        let options = SimpleFileOptions::default().compression_method(method);
        writer.start_file(format!("{name}.npy"), options).unwrap();
        writer.write_all(bytes).unwrap();
    }
    writer.finish().unwrap().into_inner()
}

/// Two features; of three actions the first earns the number of the round, the second half of it, the third none.
fn arrays(dtype: &str) -> Vec<(&'static str, Vec<u8>)> {
    let contexts: Vec<f64> = (0..ROUNDS).flat_map(|t| [t as f64 / 64.0, 1.0]).collect();
    let rewards: Vec<f64> = (0..ROUNDS).flat_map(|t| [t as f64, t as f64 / 2.0, 0.0]).collect();
    vec![("contexts", npy(&contexts, Some(2), dtype)), ("rewards", npy(&rewards, Some(3), dtype))]
}

#[test]
fn rounds_come_in_their_own_order_stored_or_compressed_narrow_or_wide() {
    let desk = Desk::new();
    let mut all = Vec::new();
    for (dtype, method) in [
        ("<f8", CompressionMethod::Stored),
        ("<f8", CompressionMethod::Deflated),
        ("<f4", CompressionMethod::Stored),
        ("<f4", CompressionMethod::Deflated),
    ] {
        let out = format!("out-{}", all.len());
        desk.write("simulator.npz", npz(&arrays(dtype), method));
        let said = desk.tiny_bench(&format!("--npz simulator.npz --out {out}")).ok();
        assert!(said.stdout.contains("\nsimulator\n  policy"), "{}", said.stdout);
        all.push(desk.results(&out));
    }
    // All of these numbers are as exact in f32.
    assert!(all.iter().all(|results| *results == all[0]));
    for policy in ["uniform", "lin-full-post"] {
        for trial in 0..2 {
            let id = id(policy, "simulator", trial);
            let expected: Vec<f64> = desk
                .actions("out-0", &id)
                .iter()
                .zip(0..)
                .map(|(action, t)| f64::from(action * t) / 2.0)
                .collect();
            assert_eq!(desk.regrets("out-0", &id), expected);
        }
    }
    assert_ne!(all[0][&id("uniform", "simulator", 0)], all[0][&id("uniform", "simulator", 1)]);
}

#[test]
fn the_best_expected_reward_may_be_given() {
    let desk = Desk::new();
    let mut members = arrays("<f8");
    // Whatever is played earns 1, and the best would have earned 1 + t.
    members[1].1 = npy(&[1.0; ROUNDS * 3], Some(3), "<f8");
    let optimal: Vec<f64> = (0..ROUNDS).map(|t| 1.0 + t as f64).collect();
    members.push(("optimal", npy(&optimal, None, "<f4")));
    desk.write("simulator.npz", npz(&members, CompressionMethod::Deflated));
    desk.tiny_bench("--npz simulator.npz --out out").ok();
    let expected: Vec<f64> = (0..60).map(f64::from).collect();
    assert_eq!(desk.regrets("out", &id("lin-full-post", "simulator", 1)), expected);
    assert_eq!(desk.regrets("out", &id("uniform", "simulator", 0)), expected);
}

#[test]
fn contexts_and_rewards_may_be_integers() {
    let desk = Desk::new();
    let contexts: Vec<f64> = (0..ROUNDS).flat_map(|t| [t as f64, 1.0]).collect();
    let rewards: Vec<f64> = (0..ROUNDS).flat_map(|t| [(t % 2) as f64, 1.0, 0.0]).collect();
    for (out, contexts_dtype, rewards_dtype) in [("floats", "<f8", "<f4"), ("integers", "<i8", "|b1")] {
        let members = [
            ("contexts", npy(&contexts, Some(2), contexts_dtype)),
            ("rewards", npy(&rewards, Some(3), rewards_dtype)),
        ];
        desk.write("simulator.npz", npz(&members, CompressionMethod::Deflated));
        desk.tiny_bench(&format!("--npz simulator.npz --out {out}")).ok();
    }
    assert_eq!(desk.results("floats"), desk.results("integers"));
}

/// Most people have the index of the best action, and not what it is worth.
#[test]
fn indices_of_the_best_action_are_not_taken_for_its_reward() {
    let desk = Desk::new();
    let meaning = "`optimal` is the best expected reward of each round, not the index of the best action";
    for (dtype, found) in [
        ("<i8", "`optimal` holds integers, expected floats"),
        ("<f8", "`optimal` has mean 0, but action 0 alone earns 34.5 on average, 14.2 standard errors more"),
    ] {
        let mut members = arrays("<f8");
        members.push(("optimal", npy(&[0.0; ROUNDS], None, dtype)));
        desk.write("simulator.npz", npz(&members, CompressionMethod::Deflated));
        desk.tiny_bench("--npz simulator.npz --out out").refused(&["simulator.npz: ", found, meaning]);
        desk.locus(["inspect", "simulator.npz"]).refused(&["simulator.npz: ", found, meaning]);
    }
    assert!(!desk.path("out").exists());
    let help = desk.locus(["bench", "--help"]).ok().stdout;
    let help = help.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(help.contains("`optimal` is the best expected reward of each round, not the index"), "{help}");
}

#[test]
fn a_negative_regret_is_told() {
    let desk = Desk::new();
    // On average one action earns what is optimal, but in the first 60 rounds, which are run, it earns more.
    let rewards: Vec<f64> =
        (0..ROUNDS).flat_map(|t| if t < 60 { [1.0, 1.0] } else { [-6.0, -6.0] }).collect();
    let members = [
        arrays("<f8").remove(0),
        ("rewards", npy(&rewards, Some(2), "<f8")),
        ("optimal", npy(&[0.0; ROUNDS], None, "<f8")),
    ];
    desk.write("simulator.npz", npz(&members, CompressionMethod::Deflated));
    let said = desk.tiny_bench("--npz simulator.npz --out out").ok();
    let expected = "lin-full-post on simulator: total regret is negative in 2 of 2 trials, down to -60.0: the policy earned more than";
    for text in [said.stdout, desk.locus(["table", "out"]).ok().stdout, desk.read("out/summary.md")] {
        assert!(text.contains(expected), "{text}");
    }
}

#[test]
fn rounds_can_be_inspected() {
    let desk = Desk::new();
    desk.write("simulator.npz", npz(&arrays("<f8"), CompressionMethod::Stored));
    let said = desk.locus(["inspect", "simulator.npz"]).ok();
    assert_eq!(
        said.stdout,
        "simulator.npz: 70 rounds; 2 features, 3 actions
  contexts  [70, 2]
  rewards   [70, 3]; mean by action 0.0000 to 34.5000 (action 0), of the best in each round 34.5000
  optimal   not given: regret is measured against the best reward in each round
"
    );
    let label = desk.locus("inspect simulator.npz --label kind".split(' '));
    label.refused(&["--label applies to the columns of a CSV file, but simulator.npz is an NPZ file"]);
    let mut members = arrays("<f8");
    members.push(("optimal", npy(&[99.0; ROUNDS], None, "<f8")));
    desk.write("simulator.npz", npz(&members, CompressionMethod::Stored));
    let said = desk.locus(["inspect", "simulator.npz"]).ok();
    assert!(
        said.stdout.contains("  optimal   [70]; mean 99.0000: regret is measured against it"),
        "{}",
        said.stdout
    );
    assert!(
        said.stderr.starts_with("note: simulator.npz: `optimal` has mean 99, but the best rewards"),
        "{}",
        said.stderr
    );
}

#[test]
fn arrays_that_do_not_fit_are_refused() {
    let desk = Desk::new();
    let cases: [(&str, Vec<u8>, &str); 4] = [
        ("prizes", npy(&[0.0; 4], Some(2), "<f8"), "no array is called `rewards`; it holds contexts, prizes"),
        ("rewards", npy(&[0.0; 4], Some(2), "<f8"), "`rewards` has shape [2, 2], expected [70, actions]"),
        (
            "rewards",
            npy(&[1e39; 2 * ROUNDS], Some(2), "<f8"),
            "`rewards` [0, 0] is NaN, infinite or beyond 3.4e38",
        ),
        ("rewards", npy(&[f64::NAN; 2 * ROUNDS], Some(2), "<f4"), "`rewards` [0, 0] is NaN"),
    ];
    for (name, array, expected) in cases {
        let contexts = arrays("<f8").remove(0);
        desk.write("bad.npz", npz(&[contexts, (name, array)], CompressionMethod::Stored));
        desk.tiny_bench("--npz bad.npz --out out").refused(&["bad.npz: ", expected]);
    }
    desk.write("short.npz", npz(&arrays("<f8"), CompressionMethod::Stored));
    let words = "bench --npz short.npz --out out --steps 71";
    desk.locus(words.split(' ')).refused(&["`short` has 70 rows, fewer than the 71 steps"]);
    assert!(!desk.path("out").exists());
}

#[test]
fn a_suite_finds_its_rounds_beside_itself() {
    let desk = Desk::new();
    desk.write("suites/simulator.npz", npz(&arrays("<f8"), CompressionMethod::Stored));
    let suite = "policies = [\"uniform\"]\ntrials = 1\nsteps = 70\n[[npz]]\nfile = \"simulator.npz\"\n";
    desk.write("suites/mine.toml", suite);
    desk.locus(["bench", "--suite", "suites/mine.toml"]).ok();
    assert_eq!(desk.regrets("runs/suite-mine", &id("uniform", "simulator", 0)).len(), 70);
}
