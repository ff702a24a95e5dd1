//! Adult: guess a person's occupation from a census record.
//!
//! The file joins a training and a test part, which spell the income differently (`<=50K` and `<=50K.`). The
//! benchmark counts these as different categories, and so do we: its width of 94 depends on it.

use locus::Shape;

use super::classification::Classification;
use super::registry::{FromFile, Origin, ProblemInfo};
use crate::Error;
use crate::data::DataFile;
use crate::data::table::Kind::{Category, Label, Number};
use crate::data::table::{Header, Kind, Missing, Separator, TableReader};

pub(super) const INFO: ProblemInfo = ProblemInfo {
    id: "adult",
    shape: Shape::new(94, 14),
    n_candidates: 0,
    rows: Some(45_222),
    rewards: "1 for the occupation of the person, else 0",
    origin: Origin::File { name: "adult.full", read },
};

const KINDS: [Kind; 15] = [
    Number,   // age
    Category, // work class
    Number,   // weight of the record
    Category, // education
    Number,   // education in years
    Category, // marital status
    Label,    // occupation
    Category, // relationship
    Category, // race
    Category, // sex
    Number,   // capital gain
    Number,   // capital loss
    Number,   // hours per week
    Category, // native country
    Category, // income
];

fn read(file: &mut DataFile) -> Result<FromFile, Error> {
    let label = file.label();
    let table =
        TableReader::new(file, &label, Separator::Comma, Header::Absent)?.read(&KINDS, Missing::DropRow)?;
    Classification::from_table(INFO.id, table, &label)
}
