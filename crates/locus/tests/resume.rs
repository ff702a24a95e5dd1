//! Save, end the process, load in another: nobody can tell from the actions.

// The helpers of tests may unwrap as the tests do.
#![allow(clippy::unwrap_used)]

mod common;

use std::path::Path;
use std::process::Command;

use locus::{Outcome, Policy, PolicySpec, Request, Seed, Shape, load};

const SHAPE: Shape = Shape::new(12, 4);
/// Names the saved policy to a child process.
const FILE: &str = "LOCUS_TEST_RESUME_FILE";

fn play(policy: &mut dyn Policy, rounds: std::ops::Range<u64>) -> Vec<usize> {
    let step = |round| {
        let mut rng = Seed::new(5).stream("problem", round);
        let context: Vec<f32> = (0..SHAPE.n_features).map(|_| rng.normal() as f32).collect();
        let action = policy.choose(Request::new(round, &context)).unwrap().action;
        let reward = f64::from(context[action]) + rng.normal();
        policy.learn(Outcome::new(round, &context, action, reward)).unwrap();
        action
    };
    rounds.map(step).collect()
}

/// What the child process runs: loads, plays on, and leaves its actions beside the file.
#[test]
fn child() {
    let Some(file) = std::env::var_os(FILE) else { return };
    let mut policy = load(&std::fs::read(&file).unwrap()).unwrap();
    let actions = play(&mut *policy, 500..1000);
    std::fs::write(Path::new(&file).with_extension("actions"), format!("{actions:?}")).unwrap();
}

#[test]
fn a_policy_carries_on_in_a_new_process_without_a_trace() {
    let folder = std::env::temp_dir().join(format!("locus-resume-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    for spec in common::small_policies(&[]) {
        let id = spec.id();
        let uninterrupted = play(&mut *spec.build(SHAPE, Seed::new(1)).unwrap(), 0..1000);

        let mut policy = spec.build(SHAPE, Seed::new(1)).unwrap();
        let before = play(&mut *policy, 0..500);
        let file = folder.join(format!("{id}.locus"));
        std::fs::write(&file, policy.save()).unwrap();
        let child = Command::new(std::env::current_exe().unwrap())
            .args(["--exact", "child"])
            .env(FILE, &file)
            .output()
            .unwrap();
        assert!(child.status.success(), "{id}: {}", String::from_utf8_lossy(&child.stdout));

        assert_eq!(before, uninterrupted[..500], "{id}");
        let after = std::fs::read_to_string(file.with_extension("actions")).unwrap();
        assert_eq!(after, format!("{:?}", &uninterrupted[500..]), "{id}");
    }
    std::fs::remove_dir_all(&folder).unwrap();
}

fn saved(name: &str) -> Vec<u8> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/saved");
    std::fs::read(folder.join(format!("{name}.locus"))).unwrap()
}

/// Files that earlier versions saved are kept and opened for ever, and mean what they meant. Those of `lin-pool` and `locus` name settings
/// that no longer exist, at their defaults.
#[test]
fn files_of_earlier_formats_still_load() {
    for (name, actions) in [
        ("format-1-lin-full-post", [2, 1, 3, 1, 2, 2, 1, 2]),
        ("format-1-uniform", [2, 3, 3, 3, 3, 3, 0, 0]),
        ("format-1-lin-pool", [3, 1, 3, 3, 2, 1, 3, 1]),
        ("format-2-lin-full-post", [2, 1, 3, 1, 2, 2, 1, 2]),
        ("format-2-lin-pool", [3, 1, 3, 3, 2, 1, 3, 1]),
        ("format-3-lin-full-post", [2, 1, 3, 1, 2, 2, 1, 2]),
        ("format-3-lin-pool", [3, 1, 3, 3, 2, 1, 3, 1]),
    ] {
        let mut policy = load(&saved(name)).unwrap();
        assert_eq!(policy.next_round(), if name == "format-1-uniform" { 0 } else { 30 }, "{name}");
        assert!(policy.retired_actions().is_empty() && policy.shape() == SHAPE, "{name}");
        assert_eq!(play(&mut *policy, 30..38), actions, "{name}");
    }
    // Nets round differently on other kinds of processors, so their actions are not compared.
    for (name, text) in [
        ("locus", "locus[batch_size=8,hidden_layers=3,minibatches=2,replay_bound=all,stretch_after=never]"),
        (
            "neural-linear",
            "neural-linear[batch_size=8,hidden_layers=3,minibatches=2,replay_bound=all,stretch_after=never,train_every=10]",
        ),
        (
            "lu-gauss",
            "lu-gauss[batch_size=8,decoder_layers=3,encoder_layers=3,latent_dim=2,minibatches=2,replay_bound=all,stretch_after=never]",
        ),
    ] {
        let mut policy = load(&saved(&format!("format-1-{name}"))).unwrap();
        assert_eq!(policy.name(), text);
        assert_eq!(play(&mut *policy, 30..60).len(), 30);
    }
}

#[test]
fn a_file_with_a_removed_preset_names_the_tag_that_has_it() {
    let error = load(&saved("format-1-locus-removed")).err().unwrap();
    assert!(error.is_invalid_file() && error.is_removed());
    assert_eq!(
        error.to_string(),
        "policy `locus`: the preset `mixture` was removed; the tag `locus-search` (commit 8922e91) still has it"
    );
}

/// Writes the files that the test above reads: run by hand, once, when the format changes.
#[test]
#[ignore = "writes into the source tree"]
fn save_for_later_versions() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/saved");
    std::fs::create_dir_all(&folder).unwrap();
    for id in ["lin-full-post", "lin-pool"] {
        let mut policy = id.parse::<PolicySpec>().unwrap().build(SHAPE, Seed::new(1)).unwrap();
        play(&mut *policy, 0..30);
        std::fs::write(folder.join(format!("format-4-{id}.locus")), policy.save()).unwrap();
    }
}
