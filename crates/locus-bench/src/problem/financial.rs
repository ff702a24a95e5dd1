//! Financial: eight portfolios of 21 stocks. The contexts are a day's price changes, as they are; every trial draws new
//! portfolios.

use std::sync::Arc;

use locus::{Seed, Shape};

use super::linear::LinearArms;
use super::one_hot::encode;
use super::registry::{FromFile, Origin, ProblemInfo};
use super::{Problem, Sequence, check_steps};
use crate::Error;
use crate::data::DataFile;
use crate::data::table::{Header, Kind, Missing, Separator, Table, TableReader};

pub(super) const INFO: ProblemInfo = ProblemInfo {
    id: "financial",
    shape: Shape::new(21, 8),
    n_candidates: 0,
    rows: Some(3713),
    rewards: "return of 8 linear portfolios, new unit vectors per trial; noise sd 0.01 to 0.08",
    origin: Origin::File { name: "raw_stock_contexts", read },
};

struct Financial {
    days: Table,
}

fn read(file: &mut DataFile) -> Result<FromFile, Error> {
    let label = file.label();
    // The header is separated by commas, the rows by blanks.
    let days = TableReader::new(file, &label, Separator::Whitespace, Header::Skipped)?
        .read(&[Kind::Number; 21], Missing::IsError)?;
    Ok(FromFile { problem: Arc::new(Financial { days }), notes: Vec::new() })
}

impl Problem for Financial {
    fn name(&self) -> &str {
        INFO.id
    }

    fn shape(&self) -> Shape {
        INFO.shape
    }

    fn max_steps(&self) -> Option<usize> {
        Some(self.days.n_rows)
    }

    fn sequence(&self, steps: usize, seed: Seed) -> Result<Sequence, Error> {
        check_steps(self, steps)?;
        let mut sequence = Sequence::with_room(INFO.shape, steps)?;
        let Shape { n_features, n_actions, .. } = INFO.shape;
        let portfolios = LinearArms::draw(INFO.shape, n_features, &mut seed.stream("model", 0));
        let mut noise = seed.stream("rewards", 0);
        let mut context = vec![0.0; n_features];
        let mut rewards = vec![0.0; n_actions];
        for day in seed.stream("rows", 0).choose_distinct(self.days.n_rows, steps) {
            encode(&self.days.features, day, &mut context, |number| number as f32);
            let best = portfolios.play(&context, &mut noise, &mut rewards);
            sequence.push(&context, &rewards, best.expected_reward);
        }
        Ok(sequence)
    }
}

#[cfg(test)]
mod tests {
    use crate::problem::load;
    use locus::Seed;

    #[test]
    fn contexts_are_days_of_the_file_and_regret_is_against_the_best_expected_return() {
        let folder = tempfile::tempdir().unwrap();
        // On day d every stock gains d, so the expected returns are d times what the portfolios hold in sum.
        let day = |day: usize| vec![format!("{day}.0e0"); 21].join(" ");
        let text = format!("A,B,C\n{}\n{}\n{}\n", day(1), day(2), day(4));
        std::fs::write(folder.path().join("raw_stock_contexts"), text).unwrap();
        let problem = load("financial", Some(folder.path())).unwrap().problem;
        assert_eq!(problem.max_steps(), Some(3));
        let sequence = problem.sequence(3, Seed::new(1)).unwrap();
        let mut gains: Vec<f32> = sequence.rounds().map(|round| round.context[0]).collect();
        gains.sort_by(f32::total_cmp);
        assert_eq!(gains, [1.0, 2.0, 4.0]);
        let unit = sequence.round(0).best_reward / f64::from(sequence.round(0).context[0]);
        for round in sequence.rounds() {
            assert!(round.context.iter().all(|&x| x == round.context[0]));
            assert!((round.best_reward - unit * f64::from(round.context[0])).abs() < 1e-12);
            assert!(!round.rewards.contains(&round.best_reward));
            let best = round.rewards.iter().copied().fold(f64::NEG_INFINITY, f64::max);
            assert!((best - round.best_reward).abs() < 0.5);
        }
        assert_ne!(
            problem.sequence(3, Seed::new(2)).unwrap().round(0).best_reward,
            sequence.round(0).best_reward
        );
    }
}
