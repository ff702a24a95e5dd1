//! Statlog (Shuttle): the state of a space shuttle's radiators, in seven very unequal classes.

use locus::Shape;

use super::classification::Classification;
use super::registry::{FromFile, Origin, ProblemInfo};
use crate::Error;
use crate::data::DataFile;
use crate::data::table::{Header, Kind, Missing, Separator, TableReader};

pub(super) const INFO: ProblemInfo = ProblemInfo {
    id: "statlog",
    shape: Shape::new(9, 7),
    n_candidates: 0,
    rows: Some(43_500),
    rewards: "1 for the class of the row, else 0",
    origin: Origin::File { name: "shuttle.trn", read },
};

fn read(file: &mut DataFile) -> Result<FromFile, Error> {
    let mut kinds = [Kind::Number; 10];
    kinds[9] = Kind::Label;
    let label = file.label();
    let table = TableReader::new(file, &label, Separator::Whitespace, Header::Absent)?
        .read(&kinds, Missing::IsError)?;
    Classification::from_table(INFO.id, table, &label)
}
