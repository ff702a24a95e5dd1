//! US Census 1990: guess a person's occupation group from 67 other answers, all of them categories.
//!
//! The full file has 2.46 million rows; `census-10k` uses an honest part of it, in which six rare answers do
//! not occur. Both have a header, by which the columns are known.

use locus::Shape;

use super::classification::Classification;
use super::registry::{FromFile, Origin, ProblemInfo};
use crate::Error;
use crate::data::DataFile;
use crate::data::table::{Header, Kind, Missing, Separator, TableReader};
use crate::error::ErrorKind;

pub(super) const FULL_INFO: ProblemInfo = ProblemInfo {
    id: "census",
    shape: Shape::new(389, 9),
    n_candidates: 0,
    rows: Some(2_458_285),
    rewards: "1 for the occupation group of the person, else 0",
    origin: Origin::File { name: "USCensus1990.data.txt", read: |file| read("census", file) },
};

pub(super) const PART_INFO: ProblemInfo = ProblemInfo {
    id: "census-10k",
    shape: Shape::new(383, 9),
    n_candidates: 0,
    rows: Some(10_000),
    origin: Origin::File { name: "USCensus1990.first10000.data.txt", read: |file| read("census-10k", file) },
    ..FULL_INFO
};

fn read(name: &str, file: &mut DataFile) -> Result<FromFile, Error> {
    let label = file.label();
    let reader = TableReader::new(file, &label, Separator::Comma, Header::Names)?;
    for required in ["caseid", "dOccup"] {
        if !reader.names().iter().any(|name| name == required) {
            let problem = format!("no column is called `{required}`; is the first line the header?");
            return Err(ErrorKind::InvalidFile { file: label, problem }.into());
        }
    }
    let kind = |name: &String| match name.as_str() {
        "caseid" => Kind::Dropped,
        "dOccup" => Kind::Label,
        _ => Kind::Category,
    };
    let kinds: Vec<Kind> = reader.names().iter().map(kind).collect();
    let table = reader.read(&kinds, Missing::IsError)?;
    Classification::from_table(name, table, &label)
}

#[cfg(test)]
mod tests {
    use crate::problem::load;
    use locus::Shape;

    #[test]
    fn columns_are_known_by_the_header() {
        let folder = tempfile::tempdir().unwrap();
        let write = |text: &str| {
            std::fs::write(folder.path().join("USCensus1990.data.txt"), text).unwrap();
            load("census", Some(folder.path()))
        };
        let loaded = write("caseid,dAge,dOccup,iSex\r\n1,0,2,1\r\n2,10,0,1\r\n3,9,2,0\r\n").unwrap();
        assert_eq!(loaded.problem.shape(), Shape::new(5, 2));
        assert_eq!(loaded.files[0].known, None);
        assert!(loaded.notes.is_empty());
        let message = write("1,0,2,1\n").unwrap_err().to_string();
        assert!(message.contains("no column is called `caseid`"), "{message}");
        let message = write("caseid,dAge,dOccup\n1,,2\n").unwrap_err().to_string();
        assert!(message.contains("line 2, column 2 of 3 (`dAge`): the value is missing"), "{message}");
    }
}
