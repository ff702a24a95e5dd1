//! Light and dark: which color stands for which on a dark background.
//!
//! Marks name their light color, so that every program can show a picture. A style inside the picture replaces these colors where the
//! reader prefers a dark scheme, in a file of its own and as part of a page alike. Print stays light.

use std::fmt::Write;

use super::{FAINT, GRID, INK, PAPER};

/// Colors for data: told apart by most color-blind eyes, and all dark enough on white (Okabe and Ito, with three more). Each with
/// its like on a dark background.
pub(crate) const SERIES: [(&str, &str); 9] = [
    ("#0072b2", "#3f9bff"),
    ("#d55e00", "#ff8b3d"),
    ("#009e73", "#2cc795"),
    ("#cc79a7", "#ee9fc9"),
    ("#b07c00", "#e3b341"),
    ("#4aa3df", "#86d3ff"),
    ("#6a3d9a", "#b794f4"),
    ("#111111", "#f4f4f6"),
    ("#8a8a8a", "#9aa1ab"),
];
/// The background of a dark page.
const DARK_PAPER: &str = "#14171c";
const OTHERS: [(&str, &str); 4] =
    [(INK, "#e6e8eb"), (FAINT, "#a9b1bb"), (GRID, "#2c323a"), (PAPER, DARK_PAPER)];

/// The style element of a picture.
pub(super) fn style() -> String {
    let mut style = String::from("<style>@media screen and (prefers-color-scheme:dark){");
    for (light, dark) in SERIES.iter().chain(&OTHERS) {
        for property in ["fill", "stroke"] {
            let _ = write!(style, ".locus [{property}=\"{light}\"]{{{property}:{dark}}}");
        }
    }
    style + "}</style>\n"
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Contrast as WCAG 2 defines it.
    fn contrast(one: &str, other: &str) -> f64 {
        let luminance = |color: &str| {
            let channel = |from: usize| {
                let part = f64::from(u8::from_str_radix(&color[from..from + 2], 16).unwrap()) / 255.0;
                if part <= 0.040_45 { part / 12.92 } else { ((part + 0.055) / 1.055).powf(2.4) }
            };
            0.2126 * channel(1) + 0.7152 * channel(3) + 0.0722 * channel(5)
        };
        let (one, other) = (luminance(one), luminance(other));
        (one.max(other) + 0.05) / (one.min(other) + 0.05)
    }

    #[test]
    fn text_and_data_are_seen_in_both_schemes() {
        assert!((contrast("#000000", "#ffffff") - 21.0).abs() < 1e-9);
        for (light, dark) in &OTHERS[..2] {
            assert!(contrast(light, PAPER) >= 4.5 && contrast(dark, DARK_PAPER) >= 4.5, "{light} {dark}");
        }
        for (light, dark) in SERIES {
            assert!(contrast(light, PAPER) >= 2.7 && contrast(dark, DARK_PAPER) >= 4.5, "{light} {dark}");
        }
    }
}
