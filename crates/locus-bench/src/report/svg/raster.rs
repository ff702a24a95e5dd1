//! SVG to PNG.

use std::sync::Arc;

use resvg::usvg::{self, fontdb};

use super::FONTS;
use crate::Error;

/// The picture as PNG, `zoom` pixels for each of its own. Text is set in the font that comes along, whatever it asks for.
pub fn png(svg: &str, zoom: f32) -> Result<Vec<u8>, Error> {
    let failed = |problem: String| Error::InvalidPicture { problem };
    let mut fonts = fontdb::Database::new();
    for (_, font) in FONTS {
        fonts.load_font_data(font.to_vec());
    }
    for set in [fontdb::Database::set_sans_serif_family, fontdb::Database::set_serif_family] {
        set(&mut fonts, "Roboto");
    }
    let options = usvg::Options {
        font_family: "Roboto".to_owned(),
        fontdb: Arc::new(fonts),
        ..usvg::Options::default()
    };
    let tree = usvg::Tree::from_str(svg, &options).map_err(|error| failed(error.to_string()))?;
    let size = tree.size().to_int_size();
    let scaled = size.scale_by(zoom).ok_or_else(|| failed(format!("cannot be enlarged {zoom} times")))?;
    let mut pixels = resvg::tiny_skia::Pixmap::new(scaled.width(), scaled.height())
        .ok_or_else(|| failed(format!("{} × {} pixels are too many", scaled.width(), scaled.height())))?;
    let transform = resvg::tiny_skia::Transform::from_scale(zoom, zoom);
    resvg::render(&tree, transform, &mut pixels.as_mut());
    pixels.encode_png().map_err(|error| failed(error.to_string()))
}
