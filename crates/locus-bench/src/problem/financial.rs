//! Financial: eight portfolios of 21 stocks. The contexts are a day's price changes, as they are; what the
//! portfolios hold is drawn anew for every trial.

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
        let Shape { n_features, n_actions } = INFO.shape;
        let portfolios = LinearArms::draw(INFO.shape, n_features, &mut seed.stream("model", 0));
        let mut noise = seed.stream("rewards", 0);
        let mut context = vec![0.0; n_features];
        let mut rewards = vec![0.0; n_actions];
        for day in seed.stream("rows", 0).choose_distinct(self.days.n_rows, steps) {
            encode(&self.days.features, day, &mut context);
            let best = portfolios.play(&context, &mut noise, &mut rewards);
            sequence.push(&context, &rewards, best.expected_reward);
        }
        Ok(sequence)
    }
}
