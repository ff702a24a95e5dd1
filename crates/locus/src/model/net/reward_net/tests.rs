//! The loss against its formula and finite differences, predictions against the formula, and the places of numerical errors.

use std::sync::Arc;

use super::*;
use crate::agent::{Cache, Replay};
use crate::model::training::minibatch::Minibatch;
use crate::registry::values::Layers;
use crate::{Outcome, Rng, Seed, Shape};

/// The net's outputs for a context, in double precision: layers 3→8→6→4.
fn outputs_by_hand(parameters: &[f64], context: impl Iterator<Item = f32>) -> Vec<f64> {
    let mut values: Vec<f64> = context.map(f64::from).collect();
    let mut rest = parameters;
    for (n_in, n_out, is_last) in [(3, 8, false), (8, 6, false), (6, 4, true)] {
        let (weights, after) = rest.split_at(n_in * n_out);
        let (biases, after) = after.split_at(n_out);
        let sum = |out: usize| {
            let products = values.iter().enumerate().map(|(i, value)| value * weights[i * n_out + out]);
            let sum = products.sum::<f64>() + biases[out];
            if is_last { sum } else { sum.max(0.0) }
        };
        values = (0..n_out).map(sum).collect();
        rest = after;
    }
    values
}

/// The mean squared error of the predictions for the actions taken.
fn loss_by_hand(parameters: &[f64], batch: &Minibatch) -> f64 {
    let n_rows = batch.actions.len();
    let square = |row: usize| {
        let outputs = outputs_by_hand(parameters, (0..3).map(|i| batch.inputs.line(i)[row]));
        (outputs[batch.actions[row]] - f64::from(batch.rewards[row])).powi(2)
    };
    (0..n_rows).map(square).sum::<f64>() / n_rows as f64
}

/// A net 3→8→6→4 none of whose parameters is 0.
fn random_net(rng: &mut Rng) -> (RewardNet, Vec<f32>) {
    let net = RewardNet::new(&Layers(vec![8, 6]), Shape::new(3, 4));
    let mut parameters = net.initialize(0.9, rng);
    parameters.iter_mut().for_each(|parameter| *parameter += 0.1 * rng.normal() as f32);
    (net, parameters)
}

fn exact(parameters: &[f32]) -> Vec<f64> {
    parameters.iter().map(|&parameter| f64::from(parameter)).collect()
}

/// Against the formula, and its gradient against finite differences; all dimensions different, and for a single row too.
#[test]
fn the_loss_is_the_masked_squared_error_and_its_gradient_the_difference() {
    for n_rows in [21, 1] {
        let mut rng = Seed::new(1).stream("test", 0);
        let (net, parameters) = random_net(&mut rng);
        let mut work = NetWork::default();
        work.gradients = vec![0.0; net.n_parameters];
        work.batch.inputs.reshape_padded(3, n_rows);
        for i in 0..3 {
            work.batch.inputs.line_mut(i).iter_mut().for_each(|value| *value = rng.normal() as f32);
        }
        work.batch.actions = (0..n_rows).map(|row| (row * row) % 3).collect();
        work.batch.rewards = (0..n_rows).map(|_| 3.0 * rng.normal() as f32).collect();
        let loss = net.loss(&parameters, &AllUnits, &mut rng, &mut work);

        let exact = exact(&parameters);
        let by_hand = loss_by_hand(&exact, &work.batch);
        assert!((loss - by_hand).abs() < 1e-5 * by_hand, "{n_rows} rows: {loss} {by_hand}");
        for (place, gradient) in work.gradients.iter().enumerate() {
            let at = |offset: f64| {
                let mut moved = exact.clone();
                moved[place] += offset;
                loss_by_hand(&moved, &work.batch)
            };
            let difference = (at(1e-6) - at(-1e-6)) / 2e-6;
            let error = (difference - f64::from(*gradient)).abs();
            assert!(
                error < 1e-5 * (1.0 + difference.abs()),
                "{n_rows} rows, parameter {place}: {gradient}, {difference}"
            );
        }
    }
}

/// One context alone, and many side by side.
#[test]
fn predictions_are_the_nets_outputs() {
    let mut rng = Seed::new(2).stream("test", 0);
    let (net, parameters) = random_net(&mut rng);
    let exact = exact(&parameters);
    let contexts: Vec<Vec<f32>> = (0..19).map(|_| (0..3).map(|_| rng.normal() as f32).collect()).collect();
    let mut work = NetWork::default();
    for n in [1, 2, 19] {
        let contexts: Vec<&[f32]> = contexts[..n].iter().map(Vec::as_slice).collect();
        let mut rewards = vec![0.0; 4 * n];
        net.predict(&parameters, &contexts, &AllUnits, &mut rng, &mut work, &mut rewards).unwrap();
        for (context, rewards) in contexts.iter().zip(rewards.chunks(4)) {
            for (found, expected) in rewards.iter().zip(outputs_by_hand(&exact, context.iter().copied())) {
                assert!((found - expected).abs() < 1e-5, "{found} {expected}");
            }
        }
    }
}

#[test]
fn predictions_that_overflow_name_the_layer() {
    let mut rng = Seed::new(3).stream("test", 0);
    let (net, mut parameters) = random_net(&mut rng);
    let mut work = NetWork::default();
    let mut place_of = |parameters: &[f32], context: [f32; 3]| {
        let mut rewards = [0.0; 4];
        net.predict(parameters, &[&context], &AllUnits, &mut rng, &mut work, &mut rewards).unwrap_err().place
    };
    let mut steep = parameters.clone();
    steep[..3 * 8].iter_mut().for_each(|weight| *weight *= 10.0);
    assert_eq!(place_of(&steep, [f32::MAX, -f32::MAX, f32::MAX]), "hidden layer 1");
    let n = parameters.len();
    parameters[n - 7 * 4..].fill(f32::MAX);
    assert_eq!(place_of(&parameters, [30.0, -20.0, 10.0]), "the predicted rewards");
}

/// The new output has initial values, and all that training keeps of the others is theirs still.
#[test]
fn an_added_output_begins_untrained_and_leaves_the_others_as_they_were() {
    let config = RewardNetConfig::default().hidden_layers(Layers(vec![5])).batch_size(8).minibatches(3);
    let rng = &mut Seed::new(4).stream("test", 0);
    let (weights, trainer) = Trainer::new(&config, Shape::new(3, 2), rng);
    let (mut weights, mut trainer) = (Arc::new(weights.clone()), trainer.anchored(&weights, 0.5));
    let mut replay = Replay::new(3, None);
    (0..20).for_each(|round| {
        replay.push(&Outcome::new(round, &[1.0, rng.normal() as f32, 0.5], round as usize % 2, 2.0));
    });
    trainer.fit(&mut weights, &replay, &AllUnits, rng, &mut Cache::default()).unwrap();
    let (before, squares) = (weights.clone(), trainer.optimizer.squares.clone());
    trainer.add_action(Arc::make_mut(&mut weights), Shape::new(3, 3), rng);
    // 3·5 weights and 5 biases of the hidden layer; then rows of 2 that become rows of 3.
    let row = |list: &[f32], row: usize, len: usize| list[20 + row * len..][..len].to_vec();
    for (found, expected, is_new) in [
        (
            &weights.parameters,
            &before.parameters,
            (|value: f32| value != 0.0 && value.abs() <= 0.3) as fn(f32) -> bool,
        ),
        (&trainer.optimizer.squares, &squares, |value: f32| value == 1.0),
    ] {
        assert_eq!((found.len(), found[..20].to_vec()), (38, expected[..20].to_vec()));
        for unit in 0..6 {
            let (found, expected) = (row(found, unit, 3), row(expected, unit, 2));
            assert_eq!(found[..2], expected);
            assert!(is_new(found[2]) || unit == 5, "{found:?}");
        }
    }
    assert_eq!((weights.parameters[37], trainer.optimizer.squares[37]), (0.0, 1.0));
    assert_eq!(trainer.optimizer.n_steps, 3);
    trainer.fit(&mut weights, &replay, &AllUnits, rng, &mut Cache::default()).unwrap();
    assert!(weights.parameters[..20] != before.parameters[..20]);
}
