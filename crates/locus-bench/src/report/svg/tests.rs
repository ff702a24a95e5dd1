//! Ticks and quartiles by hand, pictures by their parser and by where their text lies.

use std::path::Path;

use super::*;
use crate::report::tests::labels_stay_apart;
use proptest::prelude::*;

fn texts(axis: &Axis) -> Vec<&str> {
    axis.ticks.iter().map(|(_, text)| text.as_str()).collect()
}

#[test]
fn ticks_are_round_numbers() {
    assert_eq!(texts(&Axis::linear("", 0.0, 2000.0)), ["0", "500", "1k", "1.5k", "2k"]);
    assert_eq!(texts(&Axis::linear("", -0.31, 0.3)), ["−0.2", "0.0", "0.2"]);
    assert_eq!(texts(&Axis::log("", 0.003, 30.0)), ["0.01", "0.1", "1", "10"]);
    assert_eq!(texts(&Axis::log("", 1.5, 30.0)), ["2", "5", "10", "20"]);
    assert_eq!(texts(&Axis::names("", &["a", "b"])), ["a", "b"]);
    let axis = Axis::log("", 1.0, 100.0);
    assert_eq!((axis.place(1.0), axis.place(10.0), axis.place(100.0)), (0.0, 0.5, 1.0));
    assert_eq!(Axis::linear("", 2.0, 6.0).place(3.0), 0.25);
}

#[test]
fn quartiles_whiskers_and_outliers_by_hand() {
    let summary = BoxSummary::of(&[1.0, 2.0, 3.0, 4.0, 100.0]).unwrap();
    assert_eq!(summary.quartiles, [2.0, 3.0, 4.0]);
    assert_eq!(summary.whiskers, [1.0, 4.0]);
    assert_eq!((summary.outliers, summary.mean), (vec![100.0], 22.0));
    assert_eq!(BoxSummary::of(&[7.0, 8.0]).unwrap().quartiles, [7.25, 7.5, 7.75]);
    assert_eq!(BoxSummary::of(&[]), None);
}

/// The font says how wide a text is; what we reckon with must not be less, nor much more.
#[test]
fn texts_are_as_wide_as_reckoned() {
    let [regular, bold] = FONTS.map(|(_, font)| ttf_parser::Face::parse(font, 0).unwrap());
    for (text, is_bold) in
        [("lin-full-post[prior_precision=1]", false), ("Covertype, 2000 steps", true), ("±σ −√", false)]
    {
        let font = if is_bold { &bold } else { &regular };
        let advance = |letter| font.glyph_hor_advance(font.glyph_index(letter).unwrap()).unwrap();
        let units: u16 = text.chars().map(advance).sum();
        let written = f64::from(units) / f64::from(font.units_per_em()) * 20.0;
        let reckoned = text_width(text, 20.0, is_bold);
        assert!(written <= reckoned + 1e-9, "{text}: {written} of {reckoned}");
        assert!(written > reckoned * 0.75, "{text}: {written} of {reckoned}");
    }
    // Single letters of the regular font have the width that the font says.
    for letter in ' '..='~' {
        let advance = regular.glyph_hor_advance(regular.glyph_index(letter).unwrap()).unwrap();
        assert_eq!(text_width(&letter.to_string(), 2048.0, false), f64::from(advance), "{letter:?}");
    }
}

/// A map of two columns and two rows, drawn 40 pixels wide and high each; the empty cell is not drawn.
#[test]
fn heat_map_cells_lie_where_their_edges_say() {
    let mut canvas = Canvas::new("t", 100.0, 100.0, "");
    let panel = Panel {
        area: Area { x: 10.0, y: 10.0, width: 80.0, height: 80.0 },
        title: String::new(),
        x: Axis::linear("", 0.0, 2.0).unlabeled(),
        y: Axis::linear("", 0.0, 2.0).unlabeled(),
    };
    let map = HeatMap::new(vec![0.0, 1.0, 2.0], vec![0.0, 1.0, 2.0], vec![4.0, 0.0, 1.0, 4.0]);
    panel.heat_map(&mut canvas, &map);
    let svg = canvas.finish();
    let cell = |x: u8, y: u8| format!("M{x} {y}h40v40h-40z");
    let [lower_left, lower_right, upper_right] = [cell(10, 50), cell(50, 50), cell(50, 10)];
    let drawn =
        |cells: &str, part: f64| svg.contains(&format!("<path d=\"{cells}\" fill=\"{}\"/>", shade(part)));
    assert!(drawn(&format!("{lower_left}{upper_right}"), 1.0), "{svg}");
    assert!(drawn(&lower_right, 0.25) && !svg.contains(&cell(10, 10)), "{svg}");
}

/// Gray must tell the same as color.
#[test]
fn shades_grow_darker_all_the_way() {
    let lightness = |step: u8| {
        let color = shade(f64::from(step) / 100.0);
        let channel = |from: usize| f64::from(u8::from_str_radix(&color[from..from + 2], 16).unwrap());
        0.2126 * channel(1) + 0.7152 * channel(3) + 0.0722 * channel(5)
    };
    assert!((0..100).all(|step| lightness(step + 1) < lightness(step)));
}

#[test]
fn a_framed_panel_has_no_colliding_labels() {
    let mut canvas = Canvas::new("t", 200.0, 160.0, "");
    let panel = Panel {
        area: Area { x: 60.0, y: 30.0, width: 60.0, height: 40.0 },
        title: "t".to_owned(),
        x: Axis::linear("step", 0.0, 1e7),
        y: Axis::linear("regret", 0.0, 12_345.0),
    };
    panel.grid(&mut canvas);
    panel.frame(&mut canvas);
    labels_stay_apart(&canvas.finish(), Path::new("panel"));
}

/// Once an axis up to infinity had ticks until memory ran out.
#[test]
fn axes_of_extreme_numbers_have_few_ticks() {
    let ends = [0.0, 5e-324, 2e-308, 1.0, 1.0 + f64::EPSILON, 1e17, 2e307, f64::MAX, f64::INFINITY, f64::NAN];
    let ends: Vec<f64> = ends.into_iter().flat_map(|end| [end, -end]).collect();
    for &low in &ends {
        for &high in &ends {
            for axis in [Axis::linear("", low, high), Axis::log("", low, high)] {
                let extent = axis.high - axis.low;
                assert!(extent > 0.0 && extent.is_finite(), "{low} to {high}: {axis:?}");
                assert!(axis.ticks.len() < 700, "{low} to {high}: {} ticks", axis.ticks.len());
                assert!(axis.ticks.iter().all(|(_, text)| text.len() < 400), "{low} to {high}");
                assert!(axis.place(axis.low).abs() < 1e-9 && (axis.place(axis.high) - 1.0).abs() < 1e-9);
            }
        }
    }
}

proptest! {
    /// Whatever the numbers and names, the picture can be parsed.
    #[test]
    fn pictures_are_well_formed(
        text in any::<String>(), low in any::<f64>(), high in any::<f64>(), points in prop::collection::vec(any::<(f64, f64)>(), 0..5),
    ) {
        let mut canvas = Canvas::new("t", 300.0, 200.0, &text);
        for (x, y) in [
            (Axis::linear(&text, low, high), Axis::log(&text, low, high)),
            (Axis::names("", &[&text]), Axis::linear(&text, low, high)),
        ] {
            let panel = Panel { area: Area { x: 50.0, y: 30.0, width: 200.0, height: 100.0 }, title: text.clone(), x, y };
            prop_assert!(panel.x.ticks.len() < 700 && panel.y.ticks.len() < 700);
            panel.line(&mut canvas, &points, &Stroke::solid(&text, 1.0));
            panel.grid(&mut canvas);
            panel.frame(&mut canvas);
        }
        let svg = canvas.finish();
        prop_assert!(roxmltree::Document::parse(&svg).is_ok(), "{svg}");
    }
}
