//! The page: one HTML file that needs nothing but itself.

mod comparison;
mod identity;
mod tables;

use super::Section;
use super::figures::Figure;
use super::svg::{FONTS, escaped};

/// What the page shows of a picture made by others: its name and its bytes.
pub(super) struct Embedded {
    pub(super) name: String,
    /// What it says that it shows; may be empty.
    pub(super) caption: String,
    pub(super) svg: String,
}

/// The whole page.
pub(super) fn render(sections: &[Section], warnings: &[String]) -> String {
    let title = match sections {
        [only] => format!("Report of {}", only.name),
        _ => {
            let n_folders: usize = sections.iter().map(|section| section.folders.len()).sum();
            format!("Report of {n_folders} runs")
        }
    };
    let mut body = String::new();
    let mut contents = String::new();
    for section in sections {
        render_section(section, sections.len() > 1, &mut body, &mut contents);
    }
    let mut warned = String::new();
    if !warnings.is_empty() {
        let items: String =
            warnings.iter().map(|warning| format!("<li>{}</li>\n", escaped(warning))).collect();
        warned = format!(
            "<section id=\"warnings\" class=\"warnings\"><h2>What could not be read</h2>\n<ul>\n{items}</ul></section>\n"
        );
        contents.insert_str(0, "<a href=\"#warnings\">What could not be read</a>\n");
    }
    let title = escaped(&title);
    format!(
        "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n<link rel=\"icon\" href=\"data:,\">\n\
         <title>{title}</title>\n<style>\n{}{}</style>\n</head>\n<body>\n<header><h1>{title}</h1></header>\n\
         <nav aria-label=\"Contents\">\n{contents}</nav>\n<main>\n{warned}{body}</main>\n\
         <footer>Made by Locus {} from the recorded trials; <code>locus report</code> regenerates it.</footer>\n\
         <script>\n{}</script>\n</body>\n</html>\n",
        font_faces(),
        include_str!("style.css"),
        crate::record::VERSION,
        include_str!("script.js"),
    )
}

fn render_section(section: &Section, is_one_of_many: bool, body: &mut String, contents: &mut String) {
    let prefix = &section.prefix;
    let mut part = |name: &str, title: &str, content: String| {
        if content.is_empty() {
            return;
        }
        let id = format!("{prefix}{name}");
        let class = if name == "run" { " class=\"run\"" } else { "" };
        contents.push_str(&format!("<a href=\"#{id}\"{class}>{}</a>\n", escaped(title)));
        body.push_str(&format!("<section id=\"{id}\">\n<h2>{}</h2>\n{content}</section>\n", escaped(title)));
    };
    if is_one_of_many {
        part("run", &section.name, identity::others(section));
    }
    part("answer", "In short", tables::answer(section));
    for shown in &section.tables {
        part(&shown.id, &shown.title, tables::render(shown, prefix));
    }
    let find = |name: &str| section.figures.iter().find(|figure| figure.id == format!("{prefix}{name}"));
    part("paired", "Policies against each other", comparison::render(section, find("ranks")));
    for name in ["regret", "boxes", "cost", "actions"] {
        if let Some(drawn) = find(name) {
            part(&format!("figure-{name}"), &drawn.title, figure(drawn));
        }
    }
    let mut explored: String = section.explored.iter().map(embedded).collect();
    for words in &section.explored_words {
        explored.push_str(&format!("<pre>{}</pre>\n", escaped(words)));
    }
    part("explore", "A look into posteriors", explored);
    part("identity", "What was run", identity::render(section));
}

fn figure(figure: &Figure) -> String {
    format!(
        "<figure>\n{}<figcaption>{} <span class=\"files\">(figures/{}.svg)</span></figcaption>\n</figure>\n",
        figure.svg,
        escaped(&figure.caption),
        escaped(&figure.id)
    )
}

/// A file made by others stands on the page as an image: whatever it holds, it cannot act on the page.
fn embedded(picture: &Embedded) -> String {
    let mut source = String::with_capacity(picture.svg.len() * 5 / 4);
    for byte in picture.svg.bytes() {
        match byte {
            b' '..=b'~' if !b"\"%#<>&'".contains(&byte) => source.push(char::from(byte)),
            _ => source.push_str(&format!("%{byte:02X}")),
        }
    }
    let name = escaped(&picture.name);
    let caption = match picture.caption.as_str() {
        "" => name.clone(),
        caption => format!("{name}. {}", escaped(caption)),
    };
    format!(
        "<figure>\n<img alt=\"{name}\" src=\"data:image/svg+xml;charset=utf-8,{source}\">\n\
         <figcaption>{caption}</figcaption>\n</figure>\n"
    )
}

/// The font of the figures, so that they look the same on a machine without it.
fn font_faces() -> String {
    let face = |(weight, bytes): &(&str, &[u8])| {
        format!(
            "@font-face {{ font-family: Roboto; font-weight: {weight}; src: url(data:font/ttf;base64,{}) }}\n",
            base64(bytes)
        )
    };
    FONTS.iter().map(face).collect()
}

fn base64(bytes: &[u8]) -> String {
    const LETTERS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut out = String::with_capacity(bytes.len().div_ceil(3) * 4);
    for chunk in bytes.chunks(3) {
        let at = |index: usize| u32::from(chunk.get(index).copied().unwrap_or(0));
        let bits = at(0) << 16 | at(1) << 8 | at(2);
        for place in 0..4 {
            let letter = LETTERS[(bits >> (18 - 6 * place) & 63) as usize];
            out.push(if place <= chunk.len() { char::from(letter) } else { '=' });
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The test vectors of RFC 4648.
    #[test]
    fn base64_as_specified() {
        let cases = [
            ("", ""),
            ("f", "Zg=="),
            ("fo", "Zm8="),
            ("foo", "Zm9v"),
            ("foob", "Zm9vYg=="),
            ("fooba", "Zm9vYmE="),
        ];
        for (plain, encoded) in cases {
            assert_eq!(base64(plain.as_bytes()), encoded);
        }
    }

    #[test]
    fn pictures_of_others_cannot_leave_their_place() {
        let svg = "<svg><script>alert(\"%&'\")</script></svg>".to_owned();
        let html = embedded(&Embedded { name: "<b>".to_owned(), caption: "<i>".to_owned(), svg });
        assert!(
            !html.contains("<script")
                && !html.contains("<b>")
                && !html.contains("<i>")
                && html.contains("&lt;b&gt;"),
            "{html}"
        );
        assert_eq!(html.matches('"').count(), 4);
    }
}
