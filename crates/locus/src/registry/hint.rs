//! Hints for mistyped names: the closest known name.

/// ` (did you mean …?)` with the known name that is closest to `name`, or nothing if none is close.
///
/// Error messages append it to an unknown name. A name is close if its edit distance is at most a third of the letters of `name`,
/// or 1 for short names; case is ignored. An edit inserts, deletes or replaces a letter, or swaps two neighbors. The first of
/// several closest names is returned.
///
/// ```
/// assert_eq!(locus::did_you_mean("lu-gaus", ["lu-sivi", "lu-gauss"]), " (did you mean `lu-gauss`?)");
/// assert_eq!(locus::did_you_mean("mine", ["lu-sivi", "lu-gauss"]), "");
/// ```
pub fn did_you_mean<'a>(name: &str, known: impl IntoIterator<Item = &'a str>) -> String {
    /// Longer texts are not mistyped names, and comparing them would be slow.
    const LONGEST: usize = 200;
    let letters = |text: &str| text.to_lowercase().chars().take(LONGEST).collect::<Vec<char>>();
    let name = letters(name);
    let most = (name.len() / 3).max(1);
    let distances = known.into_iter().map(|known| (distance(&name, &letters(known)), known));
    let closest = distances.filter(|(distance, _)| *distance <= most).min_by_key(|(distance, _)| *distance);
    closest.map_or_else(String::new, |(_, known)| format!(" (did you mean `{known}`?)"))
}

/// The optimal string alignment distance: the fewest insertions, deletions, replacements and swaps of neighbors.
fn distance(one: &[char], other: &[char]) -> usize {
    // rows[i % 3][j] is the distance between the first i letters of one and the first j of the other.
    let mut rows = [(); 3].map(|()| (0..=other.len()).collect::<Vec<usize>>());
    for i in 1..=one.len() {
        let (before, last, this) = ((i + 1) % 3, (i + 2) % 3, i % 3);
        rows[this][0] = i;
        for j in 1..=other.len() {
            let replaced = rows[last][j - 1] + usize::from(one[i - 1] != other[j - 1]);
            let mut best = replaced.min(rows[last][j] + 1).min(rows[this][j - 1] + 1);
            if i > 1 && j > 1 && one[i - 1] == other[j - 2] && one[i - 2] == other[j - 1] {
                best = best.min(rows[before][j - 2] + 1);
            }
            rows[this][j] = best;
        }
    }
    rows[one.len() % 3][other.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn distances_by_hand() {
        for (one, other, expected) in [
            ("", "", 0),
            ("", "abc", 3),
            ("abc", "", 3),
            ("abc", "abc", 0),
            ("abc", "abd", 1),
            ("abc", "ac", 1),
            ("abc", "xabc", 1),
            ("abc", "acb", 1),
            ("abcd", "badc", 2),
            ("kitten", "sitting", 3),
        ] {
            let letters = |text: &str| text.chars().collect::<Vec<char>>();
            assert_eq!(distance(&letters(one), &letters(other)), expected, "{one} {other}");
            assert_eq!(distance(&letters(other), &letters(one)), expected, "{other} {one}");
        }
    }

    #[test]
    fn the_closest_name_is_suggested_if_it_is_close() {
        let known = ["uniform", "lu-gauss", "lu-gauss-ablation", "lu-sivi", "wheel", "ab"];
        for (name, expected) in [
            ("unifrom", Some("uniform")),
            ("lu-gaus", Some("lu-gauss")),
            ("LU_Gauss", Some("lu-gauss")),
            ("lu-gauss-ablaton", Some("lu-gauss-ablation")),
            ("whel", Some("wheel")),
            ("abc", Some("ab")),
            ("mushroom", None),
            ("heels", None),
            ("lu", None),
            ("", None),
        ] {
            let expected = expected.map_or(String::new(), |known| format!(" (did you mean `{known}`?)"));
            assert_eq!(did_you_mean(name, known), expected, "{name}");
        }
        assert_eq!(did_you_mean(&"x".repeat(1_000_000), known), "");
        assert_eq!(did_you_mean("ac", ["ab", "ad"]), " (did you mean `ab`?)", "the first of several");
    }
}
