//! Numbers in words, and paths that can be pasted into a shell.

use std::path::Path;

/// `1 trial`, `2 trials`.
pub(crate) fn count(number: usize, noun: &str) -> String {
    count_of(number, noun, &format!("{noun}s"))
}

/// `1 policy`, `2 policies`.
pub(crate) fn count_of(number: usize, one: &str, many: &str) -> String {
    format!("{number} {}", if number == 1 { one } else { many })
}

/// A time that is only roughly known.
pub(crate) fn rough_duration(seconds: f64) -> String {
    match seconds {
        seconds if seconds < 0.5 => "less than a second".to_owned(),
        seconds if seconds < 1.5 => "about a second".to_owned(),
        seconds if seconds < 90.0 => format!("about {seconds:.0} seconds"),
        seconds if seconds < 90.0 * 60.0 => format!("about {:.0} minutes", seconds / 60.0),
        seconds => format!("about {:.1} hours", seconds / 3600.0),
    }
}

/// A time in its shortest form, for repeated display.
pub(crate) fn short_duration(seconds: f64) -> String {
    let (minute, hour, day) = (60.0, 3600.0, 86_400.0);
    let parts = |large: f64, small: f64| {
        let n_small = (seconds / small).round();
        let n_large = (n_small * small / large).floor();
        (n_large, n_small - n_large * (large / small))
    };
    match seconds {
        // Unknown or impossible times are not shown as a number.
        seconds if !seconds.is_finite() || seconds < 0.0 => "?".to_owned(),
        seconds if seconds > 0.0 && seconds < 0.5 => "<1 s".to_owned(),
        seconds if seconds < 89.5 => format!("{seconds:.0} s"),
        seconds if seconds < 89.5 * minute => format!("{:.0} min", seconds / minute),
        seconds if seconds < 47.5 * hour => {
            let (hours, minutes) = parts(hour, minute);
            format!("{hours} h {minutes} min")
        }
        _ => {
            let (days, hours) = parts(day, hour);
            format!("{days} d {hours} h")
        }
    }
}

/// A measured time with its significant digits.
pub(crate) fn measured_duration(seconds: f64) -> String {
    match seconds {
        seconds if seconds < 0.1 => format!("{:.1} ms", seconds * 1e3),
        seconds if seconds < 100.0 => format!("{seconds:.2} s"),
        seconds => format!("{seconds:.0} s"),
    }
}

/// A path as a word of a command, quoted if a shell would split it.
pub(crate) fn shell_word(path: &Path) -> String {
    let word = path.display().to_string();
    let is_plain = |letter: char| letter.is_alphanumeric() || "/._-+=:,@%".contains(letter);
    match !word.is_empty() && word.chars().all(is_plain) {
        true => word,
        false => format!("'{}'", word.replace('\'', r"'\''")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_is_not_many() {
        assert_eq!([0, 1, 2].map(|number| count(number, "job")), ["0 jobs", "1 job", "2 jobs"]);
        assert_eq!([1, 2].map(|number| count_of(number, "policy", "policies")), ["1 policy", "2 policies"]);
    }

    #[test]
    fn paths_survive_a_shell() {
        for (path, word) in [
            ("/data/my-files_1.0", "/data/my-files_1.0"),
            ("my files", "'my files'"),
            ("it's", r"'it'\''s'"),
            ("$HOME", "'$HOME'"),
            ("", "''"),
        ] {
            assert_eq!(shell_word(Path::new(path)), word);
        }
    }

    #[test]
    fn durations_read_well() {
        for (seconds, expected) in [
            (0.0, "less than a second"),
            (1.2, "about a second"),
            (1.5, "about 2 seconds"),
            (89.4, "about 89 seconds"),
            (90.0, "about 2 minutes"),
            (5399.0, "about 90 minutes"),
            (5400.0, "about 1.5 hours"),
        ] {
            assert_eq!(rough_duration(seconds), expected);
        }
        for (seconds, expected) in [
            (0.0, "0 s"),
            (0.1, "<1 s"),
            (0.6, "1 s"),
            (89.4, "89 s"),
            (89.6, "1 min"),
            (5369.0, "89 min"),
            (5370.0, "1 h 30 min"),
            (7199.0, "2 h 0 min"),
            (90_061.0, "25 h 1 min"),
            (190_000.0, "2 d 5 h"),
            (f64::NAN, "?"),
            (f64::INFINITY, "?"),
        ] {
            assert_eq!(short_duration(seconds), expected);
        }
        assert_eq!(
            [0.000_04, 0.0123, 0.1, 12.345, 712.4].map(measured_duration),
            ["0.0 ms", "12.3 ms", "0.10 s", "12.35 s", "712 s"]
        );
    }
}
