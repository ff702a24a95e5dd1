//! Mushroom: eat or not? A poisonous one pays +5 or −35, and its reward is observed only by eating.
//!
//! Action 0 is not to eat, action 1 to eat. Rows are drawn with replacement; contexts are the 0/1 indicators of the 22
//! attributes, as they are. `?` in the column stalk-root is a separate category.

use std::sync::Arc;

use locus::{Seed, Shape};

use super::one_hot::{encode, total_width};
use super::registry::{FromFile, Origin, ProblemInfo};
use super::{Problem, Sequence, check_steps};
use crate::Error;
use crate::data::DataFile;
use crate::data::table::{CategoryColumn, Feature, Header, Kind, Missing, Separator, TableReader};
use crate::error::ErrorKind;

pub(super) const INFO: ProblemInfo = ProblemInfo {
    id: "mushroom",
    shape: Shape::new(117, 2),
    n_candidates: 0,
    rows: Some(8124),
    rewards: "not eat: 0; eat edible: 5; eat poisonous: 5 or -35, each with probability 1/2",
    origin: Origin::File { name: "mushroom.data", read },
};

/// The action that never harms, and the best one for what is poisonous.
const NOT_EAT: usize = 0;
/// The code of `p` among the sorted classes `e` and `p`.
const POISONOUS: usize = 1;
const SAFE_MEAL: f64 = 5.0;
const POISONED_MEAL: f64 = -35.0;

struct Mushroom {
    n_rows: usize,
    features: Vec<Feature>,
    label: CategoryColumn,
}

fn read(file: &mut DataFile) -> Result<FromFile, Error> {
    let mut kinds = [Kind::Category; 23];
    kinds[0] = Kind::Label;
    let file_label = file.label();
    let table = TableReader::new(file, &file_label, Separator::Comma, Header::Absent)?
        .read(&kinds, Missing::IsCategory)?;
    let label = table.label.filter(|label| label.categories() == ["e", "p"]).ok_or_else(|| {
        let problem = "the first column holds other values than e (edible) and p (poisonous), expected both";
        ErrorKind::InvalidFile { file: file_label, problem: problem.to_owned() }
    })?;
    let problem = Mushroom { n_rows: table.n_rows, features: table.features, label };
    Ok(FromFile { problem: Arc::new(problem), notes: Vec::new() })
}

impl Problem for Mushroom {
    fn name(&self) -> &str {
        INFO.id
    }

    fn shape(&self) -> Shape {
        Shape::new(total_width(&self.features), 2)
    }

    fn action_name(&self, action: usize) -> String {
        if action == NOT_EAT { "Not eat" } else { "Eat" }.to_owned()
    }

    fn deceptive_best_action(&self) -> Option<usize> {
        Some(NOT_EAT)
    }

    fn max_steps(&self) -> Option<usize> {
        None
    }

    fn sequence(&self, steps: usize, seed: Seed) -> Result<Sequence, Error> {
        check_steps(self, steps)?;
        let mut sequence = Sequence::with_room(self.shape(), steps)?;
        let mut context = vec![0.0; self.shape().n_features];
        let mut rows = seed.stream("rows", 0);
        let mut luck = seed.stream("rewards", 0);
        for _ in 0..steps {
            let row = rows.below(self.n_rows);
            encode(&self.features, row, &mut context, |number| number as f32);
            // The random outcome is drawn for every row, so that it depends on the step alone.
            let is_lucky = luck.uniform() < 0.5;
            if self.label.code(row) == POISONOUS {
                // On average the meal is worth -15, so the best is not to eat.
                let meal = if is_lucky { SAFE_MEAL } else { POISONED_MEAL };
                sequence.push(&context, &[0.0, meal], 0.0);
            } else {
                sequence.push(&context, &[0.0, SAFE_MEAL], SAFE_MEAL);
            }
        }
        Ok(sequence)
    }
}

#[cfg(test)]
mod tests {
    use crate::problem::load;
    use locus::{Seed, Shape};

    #[test]
    fn meals_pay_as_they_should() {
        let folder = tempfile::tempdir().unwrap();
        let rest = ",s".repeat(21);
        let text = format!("p,?{rest}\ne,a{rest}\np,b{rest}\n");
        std::fs::write(folder.path().join("mushroom.data"), text).unwrap();
        let problem = load("mushroom", Some(folder.path())).unwrap().problem;
        assert_eq!(problem.shape(), Shape::new(3 + 21, 2));
        assert_eq!(problem.max_steps(), None);

        let sequence = problem.sequence(9000, Seed::new(5)).unwrap();
        let mut counts = [[0_i64; 2]; 3];
        for round in sequence.rounds() {
            assert_eq!(round.context.iter().sum::<f32>(), 22.0);
            let row = round.context[..3].iter().position(|&x| x == 1.0).unwrap();
            assert_eq!(round.rewards[0], 0.0);
            match (row, round.rewards[1], round.best_reward) {
                (1, 5.0, 5.0) => counts[1][0] += 1,
                (0 | 2, 5.0, 0.0) => counts[row][0] += 1,
                (0 | 2, -35.0, 0.0) => counts[row][1] += 1,
                odd => panic!("{odd:?}"),
            }
        }
        // 3000 ± 45 edible, 1500 ± 35 of each other kind; five standard deviations occur once in a million seeds.
        for (count, expected) in counts.as_flattened().iter().zip([1500, 1500, 3000, 0, 1500, 1500]) {
            assert!((count - expected).abs() < 225, "{counts:?}");
        }
        assert_eq!(problem.sequence(100, Seed::new(5)).unwrap().round(99), sequence.round(99));
    }

    #[test]
    fn labels_other_than_e_and_p_are_refused() {
        let folder = tempfile::tempdir().unwrap();
        let text = format!("x{}\n", ",s".repeat(22));
        std::fs::write(folder.path().join("mushroom.data"), text).unwrap();
        let error = load("mushroom", Some(folder.path())).unwrap_err();
        assert!(error.is_invalid_data() && error.to_string().contains("e (edible)"), "{error}");
    }
}
