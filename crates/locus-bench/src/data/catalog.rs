//! The benchmark's data files: names, checksums, licenses and sources.

/// A file of the benchmark.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CatalogFile {
    /// Its uncompressed name.
    pub name: &'static str,
    /// The ids of the problems that use it.
    pub problems: &'static [&'static str],
    /// Rows, without the header.
    pub rows: usize,
    /// Lines before the first row; `None` for a `.npy` file.
    pub header_lines: Option<usize>,
    /// SHA-256 of the uncompressed bytes, if known.
    pub sha256: Option<&'static str>,
    /// A remark for checksums that do not match.
    pub if_another: Option<&'static str>,
    /// The terms under which it may be used.
    pub license: &'static str,
    /// The author and the address.
    pub source: &'static str,
}

/// The file of this name, if it is one of the benchmark's.
pub fn find(name: &str) -> Option<&'static CatalogFile> {
    FILES.iter().find(|file| file.name == name)
}

const CC_BY: &str = "CC BY 4.0";

/// All files of the benchmark.
pub static FILES: [CatalogFile; 8] = [
    CatalogFile {
        name: "mushroom.data",
        problems: &["mushroom"],
        rows: 8124,
        header_lines: Some(0),
        sha256: Some("e65d082030501a3ebcbcd7c9f7c71aa9d28fdfff463bf4cf4716a3fe13ac360e"),
        if_another: None,
        license: CC_BY,
        source: "UCI Machine Learning Repository, Mushroom (agaricus-lepiota.data), doi:10.24432/C5959T, https://archive.ics.uci.edu/dataset/73/mushroom",
    },
    CatalogFile {
        name: "raw_stock_contexts",
        problems: &["financial"],
        rows: 3713,
        header_lines: Some(1),
        sha256: Some("cf468e5aae150dfd5c6b096464cd11e85f8b01198f8e49bedb941948850a6315"),
        if_another: Some(
            "the known checksum is that of a public copy; the bucket's file could not be compared",
        ),
        license: "none stated; the benchmark's code is Apache-2.0",
        source: "Riquelme, Tucker, Snoek, Deep Bayesian Bandits Showdown (ICLR 2018), https://storage.googleapis.com/bandits_datasets/raw_stock_contexts",
    },
    CatalogFile {
        name: "shuttle.trn",
        problems: &["statlog"],
        rows: 43_500,
        header_lines: Some(0),
        sha256: Some("87b24ee9fb5137e1d417659cf905d84d0e15342bbaa60770f1ae83da1a38200a"),
        if_another: None,
        license: CC_BY,
        source: "UCI Machine Learning Repository, Statlog (Shuttle), shuttle.trn.Z expanded, doi:10.24432/C5WS31, https://archive.ics.uci.edu/dataset/148/statlog+shuttle",
    },
    CatalogFile {
        name: "jester_data_40jokes_19181users.npy",
        problems: &["jester", "jester-described"],
        rows: 19_181,
        header_lines: None,
        sha256: Some("0851d02de7fd0902cc6b4f61aa92a41178b19dfb5a72e608a5b3885dfb695c89"),
        if_another: Some(
            "the known checksum is that of the file that `locus data derive jester` creates; the benchmark's own file differs, and `git hash-object FILE` prints b38ede7aac0284fd459eb45b79bb06b6b3e8a326 for it",
        ),
        license: "free for research use when acknowledged with its reference",
        source: "Goldberg, Roeder, Gupta, Perkins, Eigentaste (Information Retrieval 4(2), 2001), Jester dataset 1, the users who rated all of the 40 most-rated jokes, https://eigentaste.berkeley.edu/dataset/",
    },
    CatalogFile {
        name: "covtype.data",
        problems: &["covertype"],
        rows: 581_012,
        header_lines: Some(0),
        sha256: Some("0a9371cef7c964b5475d6053cc3e0894a5aa6f65ad1ed3ecb01c45aa96217945"),
        if_another: None,
        license: CC_BY,
        source: "Blackard, UCI Machine Learning Repository, Covertype, doi:10.24432/C50K5N, https://archive.ics.uci.edu/dataset/31/covertype",
    },
    CatalogFile {
        name: "adult.full",
        problems: &["adult"],
        rows: 48_842,
        header_lines: Some(0),
        sha256: Some("ebd98c4fdafe93cb6f9103d8bdadd153e46723ae9b584eacf855c0bbdf299196"),
        if_another: Some(
            "the known checksum is that of adult.data and adult.test joined; the bucket's file could not be compared",
        ),
        license: CC_BY,
        source: "UCI Machine Learning Repository, Adult, the rows of adult.data and then of adult.test, doi:10.24432/C5XW20, https://archive.ics.uci.edu/dataset/2/adult",
    },
    CatalogFile {
        name: "USCensus1990.data.txt",
        problems: &["census"],
        rows: 2_458_285,
        header_lines: Some(1),
        sha256: None,
        if_another: None,
        license: CC_BY,
        source: "Meek, Thiesson, Heckerman, UCI Machine Learning Repository, US Census Data (1990), doi:10.24432/C5VP42, https://archive.ics.uci.edu/dataset/116/us+census+data+1990",
    },
    CatalogFile {
        name: "USCensus1990.first10000.data.txt",
        problems: &["census-10k"],
        rows: 10_000,
        header_lines: Some(1),
        sha256: Some("9e0e77113b482d34ff3274f23deda163e7bfce238101fddd050d4e9b748b0b82"),
        if_another: None,
        license: CC_BY,
        source: "The header and the first 10,000 rows of USCensus1990.data.txt, with LF line ends",
    },
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_unique_and_checksums_well_formed() {
        for (index, file) in FILES.iter().enumerate() {
            assert_eq!(find(file.name), Some(&FILES[index]));
            if let Some(sha256) = file.sha256 {
                assert!(sha256.len() == 64 && sha256.bytes().all(|b| matches!(b, b'0'..=b'9' | b'a'..=b'f')));
            }
        }
        assert_eq!(find("shuttle.tst"), None);
    }
}
