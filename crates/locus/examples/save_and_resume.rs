//! Save and resume: a policy that was saved and loaded makes the same decisions as an uninterrupted one.
//!
//! Run with `cargo run --release -p locus-bandits --example save_and_resume`.

use std::error::Error;
use std::fs;

use locus::configs::LuGaussConfig;
use locus::{Outcome, Policy, Request, Seed, Shape};

fn main() -> Result<(), Box<dyn Error>> {
    let shape = Shape::new(4, 3);
    let mut uninterrupted = LuGaussConfig::paper().latent_dim(8).build(shape, Seed::new(7))?;
    let expected = play(&mut *uninterrupted, 0..200)?;

    let mut before = LuGaussConfig::paper().latent_dim(8).build(shape, Seed::new(7))?;
    let mut actions = play(&mut *before, 0..100)?;
    let file = std::env::temp_dir().join(format!("locus-example-{}.policy", std::process::id()));
    fs::write(&file, before.save())?;
    drop(before);

    let mut resumed = locus::load(&fs::read(&file)?)?;
    fs::remove_file(&file)?;
    // The caller counts rounds, so it must know where to continue.
    actions.extend(play(&mut *resumed, 100..200)?);
    assert_eq!(actions, expected);
    println!("{}: the same 200 decisions with and without an interruption", resumed.name());

    // A damaged file is an error.
    let mut damaged = resumed.save();
    damaged[50] ^= 1;
    let error = locus::load(&damaged).err().expect("a checksum that does not match");
    assert!(error.is_invalid_file());
    println!("{error}");
    Ok(())
}

fn play(policy: &mut dyn Policy, rounds: std::ops::Range<u64>) -> Result<Vec<usize>, locus::Error> {
    let mut actions = Vec::new();
    for round in rounds {
        let mut world = Seed::new(1).stream("world", round);
        let context: Vec<f32> = (0..4).map(|_| world.normal() as f32).collect();
        let action = policy.choose(Request::new(round, &context))?.action;
        policy.learn(Outcome::new(round, &context, action, f64::from(context[action])))?;
        actions.push(action);
    }
    Ok(actions)
}
