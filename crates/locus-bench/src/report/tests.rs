//! Reports over small folders made here: the numbers on the page, what is damaged, what is compared with what.

use super::svg::{Anchor, Area, TextStyle, text_area};
use super::*;
use crate::record::{COLUMNS, CurvePaths, Selection, curve_paths};
use crate::summary::Format;
use crate::trial::TrialId;
use std::path::Path;

const STEPS: usize = 40;
/// The last has more settings than any figure has room for.
const LONG: &str = "lin-full-post[initial_pulls=7,prior_precision=1.25,prior_rate=3.125,prior_shape=12.0625,and_many_others=1234567]";
const POLICIES: [&str; 5] = [UNIFORM, "lin-full-post", "lu-gauss", "lu-gauss-ablation", LONG];
const PROBLEMS: [&str; 3] =
    ["wheel", "mushroom", "my <own> & \"odd\" file, whose name is longer than a panel is wide"];

/// The regret of every step, whole numbers so that sums are exact.
fn regrets(problem: usize, policy: usize, trial: usize) -> Vec<f64> {
    let regret = |step: usize| ((step * 7 + trial * 5 + problem * 3) % 11 + 10 - 2 * policy) as f64;
    (0..STEPS).map(regret).collect()
}

fn id(problem: &str, policy: &str, trial: usize) -> TrialId {
    TrialId { problem: problem.to_owned(), policy: policy.to_owned(), trial }
}

/// A run of three problems and five policies; `n_trials` says how many trials a policy has, `shift` adds to the regret of
/// all but Uniform.
fn write_run(out: &Path, seed: u64, n_trials: impl Fn(usize) -> usize, shift: f64) {
    fs::create_dir_all(out.join("curves")).unwrap();
    let mut csv = csv::Writer::from_path(out.join("trials.csv")).unwrap();
    csv.write_record(COLUMNS).unwrap();
    for (problem, problem_name) in PROBLEMS.iter().enumerate() {
        for (policy, policy_name) in POLICIES.iter().enumerate() {
            for trial in 0..n_trials(policy) {
                let mut curve = regrets(problem, policy, trial);
                curve[0] += if policy > 0 { shift } else { 0.0 };
                let paths = curve_paths(out, &id(problem_name, policy_name, trial));
                write_curve(&paths, &curve);
                let simple = curve[30..].iter().sum::<f64>() / 10.0;
                let numbers = [curve.iter().sum::<f64>(), simple, 0.25, 1.0 + policy as f64];
                let mut row = vec![(*problem_name).to_owned(), (*policy_name).to_owned(), trial.to_string()];
                row.extend([seed.to_string(), STEPS.to_string()]);
                row.extend(numbers.map(|number| format!("{number:?}")));
                row.extend(["0.5".to_owned(), "0".to_owned(), "0.1.0".to_owned(), String::new()]);
                csv.write_record(row).unwrap();
            }
        }
    }
    csv.flush().unwrap();
}

fn write_curve(paths: &CurvePaths, regrets: &[f64]) {
    use crate::data::npy::write_npy;
    write_npy(fs::File::create(&paths.regret).unwrap(), regrets).unwrap();
    let actions: Vec<u32> = (0..regrets.len()).map(|step| (step % 3) as u32).collect();
    write_npy(fs::File::create(&paths.action).unwrap(), &actions).unwrap();
}

fn run_in(folder: &Path, name: &str) -> PathBuf {
    let out = folder.join(name);
    write_run(&out, 0, |policy| if policy == 2 { 3 } else { 6 }, 0.0);
    out
}

/// Text without tags, entities resolved: what a reader sees.
fn visible(html: &str) -> String {
    let without_tags: String =
        html.split('<').map(|part| part.split_once('>').map_or(part, |(_, text)| text)).collect();
    let entities =
        [("&lt;", "<"), ("&gt;", ">"), ("&quot;", "\""), ("&#39;", "'"), ("&nbsp;", " "), ("&amp;", "&")];
    entities.iter().fold(without_tags, |text, (entity, letter)| text.replace(entity, letter))
}

#[test]
fn numbers_on_the_page_are_those_of_the_summary() {
    let folder = tempfile::tempdir().unwrap();
    let out = run_in(folder.path(), "run");
    let written =
        write_report(std::slice::from_ref(&out), None, &Selection::default(), &Registry::standard()).unwrap();
    assert_eq!(written.page, out.join("report.html"));
    let page = fs::read_to_string(&written.page).unwrap();
    let (rows, _) = crate::record::read_readable_trials(&out).unwrap();
    let main: Vec<TrialRow> =
        rows.iter().filter(|row| row.id.policy != "lu-gauss-ablation").cloned().collect();
    for (name, table) in [
        ("cumulative", Table::new(&main, Metric::Cumulative)),
        ("simple", Table::new(&main, Metric::Simple)),
        ("runtime", Table::new(&rows, Metric::Runtime)),
    ] {
        let start = page.find(&format!("id=\"table-{name}\"")).unwrap();
        let html = &page[start..start + page[start..].find("</table>").unwrap()];
        let shown: Vec<&str> = html.split("<tr>").skip(2).collect();
        assert_eq!(shown.len(), table.lines.len());
        for (line, html) in table.lines.iter().zip(shown) {
            let cells: Vec<&str> = html.split("<td").skip(1).collect();
            let n_overall = cells.len() - line.cells.len();
            for ((cell, n_common), html) in line.cells.iter().zip(&table.n_common).zip(&cells[n_overall..]) {
                let (ours, value) = (cell.ours.unwrap(), cell.value(table.metric).unwrap());
                assert!(html.contains(&format!("data-sort=\"{value}\"")), "{html}");
                let text = visible(&format!("<td{html}"));
                let number = |value: f64| crate::summary::number(table.metric, value);
                let [lower, upper] = ours.quartiles.map(number);
                let mut expected = match table.metric {
                    Metric::Runtime => format!("{} ({lower}–{upper}){}", number(value), ours.n),
                    _ => {
                        let (sd, se) = (number(ours.sd.unwrap()), number(ours.se().unwrap()));
                        format!("{} ± {sd}{se} ({})", number(value), ours.n)
                    }
                };
                // All but LU-Gauss and Uniform have trials that LU-Gauss lacks.
                if table.has_more_trials(line) {
                    expected.push_str(&format!("{} ({n_common})", number(cell.common.unwrap())));
                }
                assert_eq!(text.trim_end(), expected);
            }
            let rank = line.mean_rank.unwrap();
            assert!(cells[0].contains(&format!("data-sort=\"{rank}\"")), "{}", cells[0]);
            for (problem, html) in cells[n_overall..].iter().enumerate() {
                assert_eq!(html.contains("class=\"best\""), table.is_best(line, problem), "{html}");
            }
        }
        for format in [Format::Markdown, Format::Csv, Format::Latex] {
            assert!(page.contains(&svg::escaped(&table.render(format))), "{name} as {format:?}");
        }
    }
    // LU-Gauss has three trials: the comparison says so, and so does the picture of ranks.
    assert!(page.contains("of 3") && page.contains("the 3 trials that all 5 policies share"));
    assert!(visible(&page).contains(PROBLEMS[2]));
    assert!(
        !page.contains("<own>") && !page.contains("http://")
            || page.matches("http://").count() == written.figures.len()
    );
}

#[test]
fn every_figure_is_a_picture_whose_labels_stay_apart() {
    let folder = tempfile::tempdir().unwrap();
    let out = run_in(folder.path(), "run");
    let written = write_report(&[out], None, &Selection::default(), &Registry::standard()).unwrap();
    let names: Vec<String> =
        written.figures.iter().map(|path| path.file_name().unwrap().to_string_lossy().into_owned()).collect();
    assert_eq!(names, ["regret", "boxes", "ranks", "cost", "actions"].map(|name| format!("{name}.svg")));
    for path in &written.figures {
        labels_stay_apart(&fs::read_to_string(path).unwrap(), path);
    }
}

/// Places every text of a finished picture; fails where one leaves the picture or covers another.
pub(crate) fn labels_stay_apart(svg: &str, path: &Path) {
    let document = roxmltree::Document::parse(svg).unwrap();
    let number = |node: roxmltree::Node<'_, '_>, name| node.attribute(name).unwrap().parse::<f64>().unwrap();
    let root = document.root_element();
    let whole = Area { x: 0.0, y: 0.0, width: number(root, "width"), height: number(root, "height") };
    let placed = |node: roxmltree::Node<'_, '_>| {
        let style = TextStyle {
            size: number(node, "font-size"),
            anchor: match node.attribute("text-anchor") {
                Some("end") => Anchor::End,
                Some("middle") => Anchor::Middle,
                _ => Anchor::Start,
            },
            bold: node.has_attribute("font-weight"),
            upwards: node.has_attribute("transform"),
            ..TextStyle::new(0.0)
        };
        let text = node.text().unwrap().to_owned();
        let area = text_area((number(node, "x"), number(node, "y")), &text, &style);
        (text, area)
    };
    let texts =
        document.descendants().filter(|node| node.has_tag_name(("http://www.w3.org/2000/svg", "text")));
    let found: Vec<(String, Area)> = texts.map(placed).collect();
    assert!(found.len() > 5, "{path:?} has {} texts", found.len());
    for (index, (text, area)) in found.iter().enumerate() {
        assert!(whole.contains(area), "{path:?}: {text:?} leaves the picture");
        for (other, other_area) in &found[..index] {
            assert!(!area.overlaps(other_area), "{path:?}: {text:?} covers {other:?}");
        }
    }
}

#[test]
fn damaged_curves_and_rows_are_said_and_the_rest_is_shown() {
    let folder = tempfile::tempdir().unwrap();
    let out = run_in(folder.path(), "run");
    let paths = |trial| curve_paths(&out, &id("wheel", "lin-full-post", trial));
    fs::remove_file(paths(0).regret).unwrap();
    fs::write(paths(1).action, b"not numpy").unwrap();
    let short = fs::read(paths(2).regret).unwrap();
    fs::write(paths(2).regret, &short[..short.len() - 4]).unwrap();
    write_curve(&paths(3), &[1.0; STEPS]);
    write_curve(&paths(4), &[1.0; STEPS - 1]);
    let trials = fs::read_to_string(out.join("trials.csv")).unwrap();
    let (head, tail) = trials.split_once("wheel,lu-gauss,0").unwrap();
    fs::write(out.join("trials.csv"), format!("{head}wheel,oops\nwheel,lu-gauss,0{tail}mushroom,torn"))
        .unwrap();
    let written =
        write_report(std::slice::from_ref(&out), None, &Selection::default(), &Registry::standard()).unwrap();
    let text = visible(&fs::read_to_string(&written.page).unwrap());
    for expected in [
        "line 14: found 2 fields, expected 13",
        "holds no run.json",
        "the curves of 5 of 81 trials cannot be read",
        "lin-full-post on wheel, trial 0: cannot read `",
        "trial 1: ",
        "adds up to 40, but trials.csv says",
        "holds 39 steps, expected 40",
    ] {
        assert!(
            written.warnings.iter().any(|warning| warning.contains(expected)),
            "{expected}: {:?}",
            written.warnings
        );
        assert!(text.contains(&expected.replace('`', "")), "{expected}");
    }
    // All curves gone: tables and what needs no curve are still there, pictures of an earlier report are not.
    fs::remove_dir_all(out.join("curves")).unwrap();
    let written =
        write_report(std::slice::from_ref(&out), None, &Selection::default(), &Registry::standard()).unwrap();
    assert!(!out.join("figures/regret.svg").exists() && out.join("figures/boxes.svg").exists());
    let about_curves: Vec<&String> =
        written.warnings.iter().filter(|warning| warning.contains("curves")).collect();
    assert!(
        matches!(about_curves[..], [only] if only.contains("holds no folder curves: its trials are missing")),
        "{about_curves:?}"
    );
}

/// Every trial that is to be run again is named.
#[test]
fn all_damaged_curves_are_named() {
    let folder = tempfile::tempdir().unwrap();
    let out = run_in(folder.path(), "run");
    for trial in 0..6 {
        fs::remove_file(curve_paths(&out, &id("wheel", "lin-full-post", trial)).regret).unwrap();
        fs::remove_file(curve_paths(&out, &id("mushroom", "lin-full-post", trial)).regret).unwrap();
    }
    let warnings =
        write_report(&[out], None, &Selection::default(), &Registry::standard()).unwrap().warnings.join("\n");
    for problem in ["wheel", "mushroom"] {
        for trial in 0..6 {
            assert!(warnings.contains(&format!("lin-full-post on {problem}, trial {trial}")), "{warnings}");
        }
    }
}

#[test]
fn what_is_damaged_of_an_exploration_is_said() {
    let folder = tempfile::tempdir().unwrap();
    let out = run_in(folder.path(), "run");
    let warnings = || {
        let written =
            write_report(std::slice::from_ref(&out), None, &Selection::default(), &Registry::standard())
                .unwrap();
        written.warnings.into_iter().filter(|warning| warning.contains("explore")).collect::<Vec<_>>()
    };
    assert_eq!(warnings(), [""; 0]);
    let explored = out.join("explore");
    fs::create_dir(&explored).unwrap();
    let said = warnings().join("\n");
    assert!(said.contains("holds no picture; `locus explore`") && said.contains("summary.txt"), "{said}");
    fs::write(explored.join("summary.txt"), "words").unwrap();
    fs::write(explored.join("1-single.svg"), "<svg xmlns=\"http://www.w3.org/2000/svg\"><g>").unwrap();
    fs::write(explored.join("2-many.svg"), "<svg xmlns=\"http://www.w3.org/2000/svg\"/>").unwrap();
    let said = warnings();
    assert!(matches!(&said[..], [only] if only.contains("1-single.svg` is no picture: ")), "{said:?}");
    let page = fs::read_to_string(out.join("report.html")).unwrap();
    assert!(page.contains("alt=\"2-many\"") && !page.contains("alt=\"1-single\""));
}

#[test]
fn without_uniform_one_sentence_says_so() {
    let folder = tempfile::tempdir().unwrap();
    let out = run_in(folder.path(), "run");
    let trials = fs::read_to_string(out.join("trials.csv")).unwrap();
    let others: Vec<&str> = trials.lines().filter(|line| !line.contains(",uniform,")).collect();
    let failed = format!("wheel,bbb,0,0,{STEPS},,,,,,,0.1.0,broke down\n");
    fs::write(out.join("trials.csv"), others.join("\n") + "\n" + &failed).unwrap();
    let written =
        write_report(std::slice::from_ref(&out), None, &Selection::default(), &Registry::standard()).unwrap();
    assert!(written.warnings.contains(&NO_UNIFORM.to_owned()), "{:?}", written.warnings);
    let (rows, _) = crate::record::read_readable_trials(&out).unwrap();
    let notes = Table::new(&rows, Metric::Cumulative).notes;
    assert_eq!(notes[0], NO_UNIFORM);
    // Regrets are compared as they are, problem by problem, and tables without a number are left out.
    let page = fs::read_to_string(&written.page).unwrap();
    assert!(page.contains("There is no uniform baseline") && page.contains("in the unit of the rewards"));
    assert!(visible(&page).contains("Lowest mean regret by problem"));
    assert!(!page.contains("table-cumulative") && page.contains("table-runtime"));
    assert!(notes.contains(&"bbb on wheel: 1 trial failed, not counted.".to_owned()), "{notes:?}");
    assert!(!notes.iter().any(|note| note.contains("left out")), "{notes:?}");
    assert!(!Table::new(&rows, Metric::Runtime).notes.contains(&NO_UNIFORM.to_owned()));
}

#[test]
fn folders_without_trials_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    let message = |outs: &[PathBuf]| {
        write_report(outs, None, &Selection::default(), &Registry::standard()).unwrap_err().to_string()
    };
    let empty = folder.path().join("empty");
    fs::create_dir(&empty).unwrap();
    assert!(message(std::slice::from_ref(&empty)).contains("holds no trials.csv; expected a folder that"));
    assert!(message(&[folder.path().join("nowhere")]).contains("there is no folder `"));
    fs::write(empty.join("trials.csv"), format!("{}\n", COLUMNS.join(","))).unwrap();
    assert!(message(std::slice::from_ref(&empty)).contains("no trial in `"));
    fs::write(empty.join("trials.csv"), "a,b\n").unwrap();
    let damaged = message(std::slice::from_ref(&empty));
    assert!(damaged.contains("line 1: expected the header") && damaged.ends_with("; restore the header"));
    assert!(message(&[empty.join("trials.csv")]).contains("trials.csv` is not a folder; expected a folder"));
    assert!(!empty.join("report.html").exists() && !empty.join("figures").exists());
    // Beside a folder that can be read, one that cannot is a warning.
    let out = run_in(folder.path(), "run");
    assert!(message(&[out.clone(), empty.clone()]).contains("of 2 folders needs a place of its own"));
    let place = folder.path().join("both");
    let written =
        write_report(&[out, empty], Some(&place), &Selection::default(), &Registry::standard()).unwrap();
    assert_eq!(written.page, place.join("report.html"));
    assert!(written.warnings.iter().any(|warning| warning.contains("expected the header")));
}

#[test]
fn a_run_of_a_newer_or_damaged_kind_is_shown_without_its_identity() {
    let folder = tempfile::tempdir().unwrap();
    let out = run_in(folder.path(), "run");
    for (content, expected) in [("{\"format\":99}", "written in format 99"), ("{", "not the record of a run")]
    {
        fs::write(out.join("run.json"), content).unwrap();
        let written =
            write_report(std::slice::from_ref(&out), None, &Selection::default(), &Registry::standard())
                .unwrap();
        assert!(written.warnings.iter().any(|warning| warning.contains(expected)), "{:?}", written.warnings);
    }
}

#[test]
fn folders_that_saw_the_same_rounds_are_compared_and_others_shown_apart() {
    let folder = tempfile::tempdir().unwrap();
    let [one, same, changed, other] =
        ["one", "same", "changed", "other"].map(|name| folder.path().join(name));
    write_run(&one, 0, |policy| if policy >= 3 { 0 } else { 4 }, 0.0);
    write_run(&same, 0, |policy| if policy == 2 || policy == 4 { 0 } else { 6 }, 0.0);
    write_run(&changed, 0, |policy| [2, 5, 2, 2, 0][policy], 8.0);
    write_run(&other, 1, |_| 2, 0.0);
    let collected = |outs: &[&PathBuf]| {
        let outs: Vec<PathBuf> = outs.iter().map(|out| (*out).clone()).collect();
        collect(&outs, &Selection::default(), &mut Vec::new()).unwrap()
    };
    let policies = |group: &Group| {
        let table = Table::new(&group.rows, Metric::Cumulative);
        let n = |line: &crate::summary::PolicyLine| line.cells[0].ours.unwrap().n;
        table.lines.iter().map(|line| format!("{}: {}", line.policy, n(line))).collect::<Vec<_>>()
    };
    // The same results are one policy, with the trials of both folders.
    let groups = collected(&[&one, &same, &one]);
    assert_eq!(groups.len(), 1);
    assert_eq!(
        policies(&groups[0]),
        ["uniform: 6", "lin-full-post: 6", "lu-gauss: 4", "lu-gauss-ablation: 6"]
    );
    // Other results under the same name are told apart by their folders.
    let groups = collected(&[&one, &changed]);
    assert_eq!(
        policies(&groups[0]),
        [
            "uniform: 4",
            "lin-full-post · changed: 4",
            "lin-full-post · one: 4",
            "lu-gauss · changed: 2",
            "lu-gauss · one: 4",
            "lu-gauss-ablation: 2"
        ]
    );
    let curves = Curves::read(&groups[0]);
    assert_eq!((curves.n_expected, curves.unreadable.len()), (groups[0].rows.len(), 0));
    // Another seed saw other rounds.
    let page = folder.path().join("all.html");
    let written =
        write_report(&[one, same, other], Some(&page), &Selection::default(), &Registry::standard()).unwrap();
    assert_eq!(written.page, page);
    let html = fs::read_to_string(&page).unwrap();
    for place in [
        "id=\"run-1-table-cumulative\"",
        "id=\"run-2-table-cumulative\"",
        "href=\"#run-2-identity\"",
        "Contextual bandit benchmark: 3 runs in 2 comparisons",
    ] {
        assert!(html.contains(place), "{place}");
    }
    assert!(folder.path().join("figures/run-2-regret.svg").exists());
    anchors_lead_somewhere(&html);
    // A report of less leaves no picture of more behind, and touches nothing else.
    fs::write(folder.path().join("figures/mine.svg"), "").unwrap();
    write_report(&[folder.path().join("one")], Some(&page), &Selection::default(), &Registry::standard())
        .unwrap();
    let left = |name: &str| folder.path().join("figures").join(name).exists();
    assert!(left("regret.svg") && left("mine.svg") && !left("run-1-regret.svg") && !left("run-2-regret.svg"));
}

/// A reader meets the story first, then what was compared, one figure and one table; what is missing comes last.
#[test]
fn the_page_reads_from_the_result_to_the_records() {
    let folder = tempfile::tempdir().unwrap();
    let out = run_in(folder.path(), "run");
    let order = |html: &str, parts: &[&str]| {
        let places: Vec<usize> = parts.iter().map(|part| html.find(part).expect(part)).collect();
        assert!(places.is_sorted(), "{parts:?}: {places:?}");
    };
    let page = || {
        let written =
            write_report(std::slice::from_ref(&out), None, &Selection::default(), &Registry::standard());
        fs::read_to_string(written.unwrap().page).unwrap()
    };
    let rest = [
        "id=\"result\"",
        "id=\"paired\"",
        "id=\"details\"",
        "id=\"cost\"",
        "id=\"identity\"",
        "id=\"warnings\"",
    ];
    let start = |title| {
        [
            "<h1>Contextual bandit benchmark: 4 policies on 3 problems</h1>",
            "<p class=\"lead\">",
            "id=\"about\"",
            title,
        ]
    };
    let html = page();
    order(&html, &[&start("<h2>Cumulative regret over steps</h2>")[..], &rest[..]].concat());
    assert!(html.contains("see the <a href=\"#warnings\">note at the end</a>"));
    // The registry knows two of the policies and two of the problems.
    assert!(html.contains("Thompson sampling via local uncertainty with a Gaussian latent variable."));
    assert!(html.contains("/blob/HEAD/docs/paper.md\"><code>lu-gauss</code></a>"));
    fs::remove_dir_all(out.join("curves")).unwrap();
    let html = page();
    order(&html, &[&start("<h2>Normalized cumulative regret of every trial</h2>")[..], &rest[..]].concat());
    assert_eq!(html.matches("id=\"boxes-title\"").count(), 1, "the figure stands once");
}

#[track_caller]
fn anchors_lead_somewhere(html: &str) {
    let attributes = |name: &str| -> Vec<String> {
        let start = format!(" {name}=\"");
        html.split(&start).skip(1).map(|part| part.split('"').next().unwrap().to_owned()).collect()
    };
    let mut ids = attributes("id");
    ids.sort();
    assert!(ids.windows(2).all(|pair| pair[0] != pair[1]), "an id comes twice");
    let anchors: Vec<String> =
        attributes("href").into_iter().filter(|target| target.starts_with('#')).collect();
    assert!(anchors.len() > 8);
    for anchor in anchors {
        assert!(ids.binary_search(&anchor[1..].to_owned()).is_ok(), "{anchor} leads nowhere");
    }
}

#[test]
fn pictures_of_explore_are_shown_by_name() {
    let folder = tempfile::tempdir().unwrap();
    let out = run_in(folder.path(), "run");
    fs::create_dir(out.join("explore")).unwrap();
    let picture =
        |title: &str| format!("<svg xmlns=\"http://www.w3.org/2000/svg\"><title>{title}</title></svg>");
    fs::write(out.join("explore/2-many.svg"), picture("All &amp; poisonous")).unwrap();
    let described =
        picture("One mushroom").replace("</title>", "</title><desc>Where &lt;b&gt; it ends</desc>");
    fs::write(out.join("explore/1-single.svg"), described).unwrap();
    fs::write(out.join("explore/summary.txt"), "mean < 5\n").unwrap();
    fs::write(out.join("explore/3-bad.svg"), b"\xFF").unwrap();
    fs::write(out.join("explore/data.npz"), b"").unwrap();
    let written =
        write_report(std::slice::from_ref(&out), None, &Selection::default(), &Registry::standard()).unwrap();
    let html = fs::read_to_string(&written.page).unwrap();
    let one = html.find("alt=\"One mushroom (1-single.svg)\"").unwrap();
    let many = html.find("alt=\"All &amp; poisonous (2-many.svg)\"").unwrap();
    assert!(one < many && html.contains("href=\"#explore\""));
    assert!(html.contains("One mushroom (1-single.svg). Where &lt;b&gt; it ends</figcaption>"));
    assert!(html.contains("<pre tabindex=\"0\">mean &lt; 5\n</pre>"));
    assert!(written.warnings.iter().any(|warning| warning.contains("3-bad.svg")), "{:?}", written.warnings);
    anchors_lead_somewhere(&html);
}
