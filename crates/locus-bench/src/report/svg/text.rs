//! How wide a text is, in the font that comes along: what keeps labels from running into each other.

/// Roboto, regular and bold: the letters that reports need (see `fonts/README.md`).
pub(crate) const FONTS: [(&str, &[u8]); 2] = [
    ("400", include_bytes!("../fonts/Roboto-Regular.ttf")),
    ("700", include_bytes!("../fonts/Roboto-Bold.ttf")),
];

/// Widths of the letters from space to `~` of the regular font, in 2048ths of the size.
#[rustfmt::skip]
const WIDTHS: [u16; 95] = [
    508, 528, 656, 1261, 1151, 1500, 1274, 358, 701, 713, 882, 1162, 403, 566, 540, 845, 1151, 1151, 1151, 1151,
    1151, 1151, 1151, 1151, 1151, 1151, 496, 433, 1041, 1124, 1071, 968, 1839, 1336, 1276, 1333, 1344, 1164, 1132,
    1395, 1461, 557, 1130, 1285, 1103, 1788, 1461, 1409, 1292, 1409, 1262, 1216, 1222, 1328, 1304, 1817, 1284, 1230,
    1227, 543, 841, 543, 856, 924, 633, 1114, 1150, 1072, 1155, 1086, 712, 1150, 1128, 498, 490, 1038, 498, 1796,
    1131, 1168, 1150, 1164, 694, 1057, 670, 1129, 992, 1539, 1016, 969, 1016, 693, 500, 693, 1393,
];
/// Greek letters and signs are about this wide; letters of other scripts, which the font lacks, may be twice that.
const OTHER_WIDTH: u16 = 1344;
/// No bold letter but the hyphen is wider than this, times the regular one, over a word.
const BOLD: f64 = 1.06;

/// The width of a text of this size, in pixels; of bold text, an upper bound.
pub(crate) fn text_width(text: &str, size: f64, bold: bool) -> f64 {
    let width = |letter: char| {
        let place = (letter as usize).wrapping_sub(32);
        f64::from(WIDTHS.get(place).copied().unwrap_or(OTHER_WIDTH))
    };
    let units: f64 = text.chars().map(width).sum();
    units / 2048.0 * size * if bold { BOLD } else { 1.0 }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::super::{Anchor, Area, TextStyle};
    use super::text_width;

    /// How far letters reach above and below the base line, as a part of their size.
    const ABOVE: f64 = 0.74;
    const BELOW: f64 = 0.21;

    /// The room that a text takes.
    pub(crate) fn text_area((x, y): (f64, f64), text: &str, style: &TextStyle) -> Area {
        let width = text_width(text, style.size, style.bold);
        let before = match style.anchor {
            Anchor::Start => 0.0,
            Anchor::Middle => width / 2.0,
            Anchor::End => width,
        };
        let (above, height) = (ABOVE * style.size, (ABOVE + BELOW) * style.size);
        if style.upwards {
            // The text runs up from its beginning, with its upper side to the left.
            Area { x: x - above, y: y - (width - before), width: height, height: width }
        } else {
            Area { x: x - before, y: y - above, width, height }
        }
    }
}
