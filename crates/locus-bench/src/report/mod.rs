//! What runs left behind, as a page and pictures.

pub mod svg;
