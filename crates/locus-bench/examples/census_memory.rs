//! Does the full census load within 400 MB? `cargo run --release --example census_memory -- FOLDER`
//!
//! Writes a random file of the census' size and format into FOLDER (350 MB, which must not hold one yet), loads it as `locus
//! bench` does, generates one trial, and prints the peak memory of this process. The exit code is 1 if that was too much, or on
//! any other error. The caller must delete the file. Linux only, because it reads `/proc`.

use std::error::Error;
use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::Path;
use std::process::ExitCode;

use locus::{Seed, Shape};
use locus_bench::problem;

const N_ROWS: u64 = 2_458_285;
const MAX_BYTES: u64 = 400_000_000;

/// The columns after `caseid`, each with the number of different answers, 389 besides `dOccup`.
const COLUMNS: [(&str, u16); 68] = [
    ("dAge", 8),
    ("dAncstry1", 12),
    ("dAncstry2", 12),
    ("iAvail", 5),
    ("iCitizen", 5),
    ("iClass", 10),
    ("dDepart", 6),
    ("iDisabl1", 3),
    ("iDisabl2", 3),
    ("iEnglish", 5),
    ("iFeb55", 2),
    ("iFertil", 14),
    ("dHispanic", 10),
    ("dHour89", 6),
    ("dHours", 6),
    ("iImmigr", 11),
    ("dIncome1", 5),
    ("dIncome2", 3),
    ("dIncome3", 3),
    ("dIncome4", 3),
    ("dIncome5", 2),
    ("dIncome6", 2),
    ("dIncome7", 2),
    ("dIncome8", 2),
    ("dIndustry", 13),
    ("iKorean", 2),
    ("iLang1", 3),
    ("iLooking", 3),
    ("iMarital", 5),
    ("iMay75880", 2),
    ("iMeans", 13),
    ("iMilitary", 5),
    ("iMobility", 3),
    ("iMobillim", 3),
    ("dOccup", 9),
    ("iOthrserv", 2),
    ("iPerscare", 3),
    ("dPOB", 7),
    ("dPoverty", 3),
    ("dPwgt1", 4),
    ("iRagechld", 5),
    ("dRearning", 6),
    ("iRelat1", 14),
    ("iRelat2", 10),
    ("iRemplpar", 16),
    ("iRiders", 9),
    ("iRlabor", 7),
    ("iRownchld", 2),
    ("dRpincome", 6),
    ("iRPOB", 13),
    ("iRrelchld", 2),
    ("iRspouse", 7),
    ("iRvetserv", 12),
    ("iSchool", 4),
    ("iSept80", 2),
    ("iSex", 2),
    ("iSubfam1", 4),
    ("iSubfam2", 4),
    ("iTmpabsnt", 4),
    ("dTravtime", 7),
    ("iVietnam", 2),
    ("dWeek89", 3),
    ("iWork89", 3),
    ("iWorklwk", 3),
    ("iWWII", 2),
    ("iYearsch", 18),
    ("iYearwrk", 8),
    ("dYrsserv", 3),
];

fn main() -> ExitCode {
    let result = match std::env::args_os().nth(1) {
        Some(folder) => run(Path::new(&folder)),
        None => Err("usage: census_memory FOLDER".into()),
    };
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::FAILURE
        }
    }
}

fn run(folder: &Path) -> Result<(), Box<dyn Error>> {
    generate(&folder.join("USCensus1990.data.txt"))?;
    let loaded = problem::load("census", Some(folder))?;
    if loaded.problem.shape() != Shape::new(389, 9) || loaded.problem.max_steps() != Some(N_ROWS as usize) {
        return Err(format!(
            "loaded {:?} with {:?} rows",
            loaded.problem.shape(),
            loaded.problem.max_steps()
        )
        .into());
    }
    let sequence = loaded.problem.sequence(2000, Seed::new(1))?;
    let peak = peak_bytes()?;
    println!(
        "loaded {N_ROWS} rows and generated {} steps: at most {} MB in memory",
        sequence.len(),
        peak / 1_000_000
    );
    if peak > MAX_BYTES {
        return Err(format!("held {peak} bytes, expected at most {MAX_BYTES}").into());
    }
    Ok(())
}

fn generate(path: &Path) -> Result<(), Box<dyn Error>> {
    let file =
        File::create_new(path).map_err(|error| format!("cannot create {}: {error}", path.display()))?;
    let mut output = BufWriter::with_capacity(1 << 20, file);
    let names: Vec<&str> = COLUMNS.iter().map(|(name, _)| *name).collect();
    write!(output, "caseid,{}\r\n", names.join(","))?;
    // Every cell with the comma before it, so that a row is a few copies.
    let cells = COLUMNS.map(|(name, n_answers)| {
        let first = match name {
            "iRemplpar" => 111,
            "iRPOB" => 10,
            _ => 0,
        };
        (0..n_answers).map(|answer| format!(",{}", first + answer).into_bytes()).collect::<Vec<_>>()
    });
    let mut rng = Seed::new(1990).stream("rows", 0);
    let mut row = Vec::new();
    for case in 0..N_ROWS {
        row.clear();
        write!(row, "{}", 10_000 + case)?;
        // One random byte is enough to choose among at most 18 answers.
        for eight in cells.chunks(8) {
            let chance = rng.next_u64().to_le_bytes();
            for (answers, byte) in eight.iter().zip(chance) {
                row.extend_from_slice(&answers[(usize::from(byte) * answers.len()) >> 8]);
            }
        }
        row.extend_from_slice(b"\r\n");
        output.write_all(&row)?;
    }
    output.flush()?;
    Ok(())
}

/// The high-water mark of this process' resident memory.
fn peak_bytes() -> Result<u64, Box<dyn Error>> {
    let status = std::fs::read_to_string("/proc/self/status")?;
    let line = status
        .lines()
        .find_map(|line| line.strip_prefix("VmHWM:"))
        .ok_or("the system does not report VmHWM")?;
    let kibibytes: u64 = line.trim().trim_end_matches("kB").trim_end().parse()?;
    Ok(kibibytes * 1024)
}
