//! Covertype: which of seven kinds of forest covers a patch of land. Its 54 columns are all numbers; 44 of
//! them are indicators already.

use locus::Shape;

use super::classification::Classification;
use super::registry::{FromFile, Origin, ProblemInfo};
use crate::Error;
use crate::data::DataFile;
use crate::data::table::{Header, Kind, Missing, Separator, TableReader};

pub(super) const INFO: ProblemInfo = ProblemInfo {
    id: "covertype",
    shape: Shape::new(54, 7),
    n_candidates: 0,
    rows: Some(581_012),
    rewards: "1 for the class of the row, else 0",
    origin: Origin::File { name: "covtype.data", read },
};

fn read(file: &mut DataFile) -> Result<FromFile, Error> {
    let mut kinds = [Kind::Number; 55];
    kinds[54] = Kind::Label;
    let label = file.label();
    let table =
        TableReader::new(file, &label, Separator::Comma, Header::Absent)?.read(&kinds, Missing::IsError)?;
    Classification::from_table(INFO.id, table, &label)
}
