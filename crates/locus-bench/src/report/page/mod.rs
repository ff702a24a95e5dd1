//! The page: one HTML file that needs nothing but itself.
//!
//! It reads from the top: title and story, what the policies and problems are, one figure, one table; then everything else in
//! detail, how to reproduce it, and what could not be read.

mod comparison;
mod headline;
mod identity;
mod tables;

use super::Section;
use super::about::About;
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
    let mut page = Page { body: String::new(), contents: String::new(), level: 2 };
    let (title, intro) = match sections {
        [only] => {
            page.section(only, warnings.len());
            (only.story.title.clone(), story(only))
        }
        _ => {
            let n_folders: usize = sections.iter().map(|section| section.folders.len()).sum();
            for section in sections {
                page.one_of_many(section, warnings.len());
            }
            let title = match sections.len() {
                n if n == n_folders => format!("Contextual bandit benchmark: {n} separate runs"),
                n => format!("Contextual bandit benchmark: {n_folders} runs in {n} comparisons"),
            };
            let intro = "<p>Runs are compared with each other if they have the same seed, number of steps and data, so that their \
                         policies saw the same rounds. The other runs follow separately.</p>\n";
            (title, intro.to_owned())
        }
    };
    page.warnings(warnings);
    let title = escaped(&title);
    let Page { body, contents, .. } = page;
    format!(
        "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
         <meta name=\"color-scheme\" content=\"light dark\">\n<link rel=\"icon\" href=\"data:,\">\n\
         <title>{title}</title>\n<style>\n{}{}</style>\n</head>\n<body>\n<a class=\"skip\" href=\"#main\">Skip to the results</a>\n\
         <header>\n<h1>{title}</h1>\n{intro}</header>\n<nav aria-label=\"Contents\">\n{contents}</nav>\n\
         <main id=\"main\">\n{body}</main>\n\
         <footer>Written by <a href=\"{}\">Locus</a> {} from the recorded trials; <code>locus report</code> regenerates this page.</footer>\n\
         <script>\n{}</script>\n</body>\n</html>\n",
        font_faces(),
        include_str!("style.css"),
        env!("CARGO_PKG_REPOSITORY"),
        crate::record::VERSION,
        include_str!("script.js"),
    )
}

/// What is written of a page, and where its headings stand.
struct Page {
    body: String,
    contents: String,
    /// The level of the headings of parts.
    level: usize,
}

impl Page {
    /// A section among others: its story stands at its own place.
    fn one_of_many(&mut self, section: &Section, n_warnings: usize) {
        self.level = 2;
        let names: Vec<&str> = section.folders.iter().map(|folder| folder.name.as_str()).collect();
        let title = section.story.title.split_once(": ").map_or("", |(_, title)| title);
        let content = format!("<p class=\"folders\">{title}</p>\n{}", story(section), title = escaped(title));
        self.part(section, "run", &names.join(", "), content);
        self.level = 3;
        self.section(section, n_warnings);
        self.level = 2;
    }

    fn section(&mut self, section: &Section, n_warnings: usize) {
        let sub = self.level + 1;
        let find = |name: &str| {
            section.figures.iter().find(|figure| figure.id == format!("{}{name}", section.prefix))
        };
        self.part(section, "about", "What was compared", about(section, sub));
        let headline = find("regret").or(find("boxes"));
        if let Some(drawn) = headline {
            self.part(section, "figure", &drawn.title, figure(drawn));
        }
        let note = match n_warnings {
            0 => String::new(),
            1 => "<p class=\"note\">Some records are missing: see the <a href=\"#warnings\">note at the end</a>.</p>\n".to_owned(),
            n => format!("<p class=\"note\">Some records are missing: see the <a href=\"#warnings\">{n} notes at the end</a>.</p>\n"),
        };
        self.part(section, "result", "Mean regret", headline::render(section) + &note);
        self.part(section, "paired", "Pairwise comparison", comparison::render(section, find("ranks"), sub));
        let (mut details, mut said) = (String::new(), String::new());
        for shown in section.tables.iter().filter(|shown| shown.table.metric.is_normalized()) {
            details.push_str(&tables::render(shown, &section.prefix, sub, &mut said));
        }
        if let Some(boxes) = find("boxes").filter(|boxes| headline.is_some_and(|drawn| drawn.id != boxes.id))
        {
            details.push_str(&below(boxes, sub));
        }
        self.part(section, "details", "Regret in detail", details);
        let mut cost = String::new();
        for shown in section.tables.iter().filter(|shown| !shown.table.metric.is_normalized()) {
            cost.push_str(&tables::render(shown, &section.prefix, sub, &mut said));
        }
        cost.push_str(&find("cost").map(|drawn| below(drawn, sub)).unwrap_or_default());
        self.part(section, "cost", "Compute time", cost);
        if let Some(drawn) = find("actions") {
            self.part(section, "actions", &drawn.title, figure(drawn));
        }
        let mut explored: String = section.explored.iter().map(embedded).collect();
        for words in &section.explored_words {
            explored.push_str(&format!("<pre tabindex=\"0\">{}</pre>\n", escaped(words)));
        }
        self.part(section, "explore", "Posterior samples over time", explored);
        self.part(
            section,
            "identity",
            "What was run, and how to reproduce it",
            identity::render(section, sub),
        );
    }

    fn warnings(&mut self, warnings: &[String]) {
        if warnings.is_empty() {
            return;
        }
        let items: String =
            warnings.iter().map(|warning| format!("<li>{}</li>\n", marked(warning))).collect();
        let title = "Missing or unreadable records";
        self.contents.push_str(&format!("<a href=\"#warnings\">{title}</a>\n"));
        self.body.push_str(&format!(
            "<section id=\"warnings\">\n<h2>{title}</h2>\n<ul>\n{items}</ul>\n</section>\n"
        ));
    }

    /// A part with its heading and its place in the contents; nothing where it is empty.
    fn part(&mut self, section: &Section, name: &str, title: &str, content: String) {
        if content.is_empty() {
            return;
        }
        let (id, title, level) = (format!("{}{name}", section.prefix), escaped(title), self.level);
        let class = if name == "run" { " class=\"run\"" } else { "" };
        self.contents.push_str(&format!("<a href=\"#{id}\"{class}>{title}</a>\n"));
        self.body.push_str(&format!(
            "<section id=\"{id}\"{class}>\n<h{level}>{title}</h{level}>\n{content}</section>\n"
        ));
    }
}

fn story(section: &Section) -> String {
    let paragraphs = section.story.paragraphs.iter().enumerate();
    paragraphs
        .map(|(place, text)| {
            let class = if place == 0 { " class=\"lead\"" } else { "" };
            format!("<p{class}>{}</p>\n", marked(text))
        })
        .collect()
}

/// Plain text with `code` and **strong** words as HTML.
fn marked(text: &str) -> String {
    let mut html = String::new();
    for (place, part) in text.split("**").enumerate() {
        let tag = match place {
            0 => "",
            _ if place % 2 == 1 => "<strong>",
            _ => "</strong>",
        };
        html.push_str(tag);
        html.push_str(&escaped(part).replace(" %", "&nbsp;%"));
    }
    let mut parts = html.split('`');
    let mut out = parts.next().unwrap_or_default().to_owned();
    for (place, part) in parts.enumerate() {
        out.push_str(if place % 2 == 0 { "<code>" } else { "</code>" });
        out.push_str(part);
    }
    out
}

/// What the policies and problems are.
fn about(section: &Section, level: usize) -> String {
    let entry = |about: &About| {
        let names: Vec<String> = about
            .names
            .iter()
            .map(|name| match &about.link {
                Some(link) => format!("<a href=\"{link}\"><code>{}</code></a>", escaped(name)),
                None => format!("<code>{}</code>", escaped(name)),
            })
            .collect();
        let sentence = about.sentence.as_deref().map(escaped).unwrap_or_default();
        format!("<div><dt>{}</dt> <dd>{sentence}</dd></div>\n", names.join(", "))
    };
    let list = |title: &str, entries: &[About]| {
        let entries: String = entries.iter().map(entry).collect();
        format!("<div>\n<h{level}>{title}</h{level}>\n<dl>\n{entries}</dl>\n</div>\n")
    };
    let (policies, problems) = (&section.about_policies, &section.about_problems);
    format!("<div class=\"about\">\n{}{}</div>\n", list("Policies", policies), list("Problems", problems))
}

/// A figure with a heading of its own.
fn below(drawn: &Figure, level: usize) -> String {
    format!(
        "<h{level} id=\"figure-{}\">{}</h{level}>\n{}",
        escaped(&drawn.id),
        escaped(&drawn.title),
        figure(drawn)
    )
}

/// The picture is part of the page, scrolls where it is wider, and opens alone.
fn figure(figure: &Figure) -> String {
    let id = escaped(&figure.id);
    format!(
        "<figure>\n{}<figcaption>{} <a class=\"file\" href=\"figures/{id}.svg\">Open the figure alone</a></figcaption>\n</figure>\n",
        scrolling(&figure.title, &figure.svg),
        escaped(&figure.caption),
    )
}

/// Content that scrolls within its own borders, by keyboard too.
fn scrolling(label: &str, content: &str) -> String {
    format!(
        "<div class=\"scroll\" tabindex=\"0\" role=\"region\" aria-label=\"{}\">\n{content}</div>\n",
        escaped(label)
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
        "<figure>\n{}<figcaption>{caption}</figcaption>\n</figure>\n",
        scrolling(
            &picture.name,
            &format!("<img alt=\"{name}\" src=\"data:image/svg+xml;charset=utf-8,{source}\">\n")
        )
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
    fn marks_become_tags_and_nothing_else_does() {
        assert_eq!(
            marked("a **`b` wins**: <i> & c"),
            "a <strong><code>b</code> wins</strong>: &lt;i&gt; &amp; c"
        );
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
        assert_eq!(html.matches('"').count(), 2 * html.matches("=\"").count());
    }
}
