//! What the policies and problems are, in the words of the registries, with links to where more is said.
//!
//! A policy or problem that no registry knows has no sentence here: nothing is made up.

use locus::Registry;

use super::collect::RunFolder;
use crate::paper;
use crate::problem;
use crate::record::ProblemRecord;

/// Where files of the repository are shown.
const REPOSITORY: &str = concat!(env!("CARGO_PKG_REPOSITORY"), "/blob/HEAD/");

/// One policy with all its variants, or one problem.
#[derive(Debug, PartialEq)]
pub(super) struct About {
    /// The names of the variants.
    pub(super) names: Vec<String>,
    /// `None` where nothing is known.
    pub(super) sentence: Option<String>,
    pub(super) link: Option<String>,
}

/// One entry for each id among these policies, in their order.
pub(super) fn policies(names: &[String], registry: &Registry) -> Vec<About> {
    let known = registry.policies();
    let mut entries: Vec<(&str, About)> = Vec::new();
    for name in names {
        let id = paper::base_id(name);
        match entries.iter_mut().find(|(other, _)| *other == id) {
            Some((_, about)) => about.names.push(name.clone()),
            None => {
                let info = known.iter().find(|info| info.id == id);
                let sentence = info.map(|info| format!("{}.", info.summary.trim_end_matches('.')));
                let link = policy_page(id).map(|page| format!("{REPOSITORY}{page}"));
                entries.push((id, About { names: vec![name.clone()], sentence, link }));
            }
        }
    }
    entries.into_iter().map(|(_, about)| about).collect()
}

/// The page on a policy of Locus itself.
fn policy_page(id: &str) -> Option<&'static str> {
    match id {
        "locus" | "lin-pool" => Some("docs/locus-policy.md"),
        _ if Registry::standard().policies().iter().any(|info| info.id == id) => Some("docs/paper.md"),
        _ => None,
    }
}

/// One entry for each problem.
pub(super) fn problems(names: &[String], folders: &[RunFolder]) -> Vec<About> {
    let about = |name: &String| {
        let runs = folders.iter().filter_map(|folder| folder.run.as_ref());
        let record = runs.flat_map(|run| &run.problems).find(|record| record.name == *name);
        let info = problem::info(name).ok().filter(|info| record.is_none_or(|record| is_of(record, info)));
        let shape = match (record, info) {
            (Some(record), _) => Some((record.n_features, record.n_actions, record.n_action_features)),
            (None, Some(info)) => {
                Some((info.shape.n_features, info.n_choices(), info.shape.n_action_features))
            }
            (None, None) => None,
        };
        let shape = shape.map(|(features, actions, of_action)| match of_action {
            0 => format!("{features} features and {actions} actions per round."),
            n => format!("{features} features and {actions} candidates with {n} features each per round."),
        });
        let rewards = info.map(|info| format!("Reward: {}.", info.rewards.replace(" -", " −")));
        let parts: Vec<String> = shape.into_iter().chain(rewards).collect();
        About {
            names: vec![name.clone()],
            sentence: (!parts.is_empty()).then(|| parts.join(" ")),
            link: info.map(|info| format!("{REPOSITORY}{}", problem_page(info))),
        }
    };
    names.iter().map(about).collect()
}

/// Whether a recorded problem is the built-in one of its name, and not a table of the user's.
fn is_of(record: &ProblemRecord, info: &problem::ProblemInfo) -> bool {
    record.schema.is_none() && record.files.iter().map(|file| file.name.as_str()).eq(info.file())
}

/// Where the data are described, or the program that generates them.
fn problem_page(info: &problem::ProblemInfo) -> &'static str {
    match info.file() {
        Some(_) => "docs/data.md",
        None if info.id == "wheel" => "crates/locus-bench/src/problem/wheel.rs",
        None => "crates/locus-bench/src/problem/linear.rs",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::path::Path;

    fn names(names: &[&str]) -> Vec<String> {
        names.iter().map(|name| (*name).to_owned()).collect()
    }

    #[test]
    fn known_names_have_a_sentence_and_others_none() {
        let registry = Registry::standard();
        let all = policies(&names(&["lu-gauss", "mine", "lu-gauss@paper · other"]), &registry);
        assert_eq!(all.len(), 2);
        assert_eq!(all[0].names, ["lu-gauss", "lu-gauss@paper · other"]);
        assert!(all[0].sentence.as_ref().unwrap().starts_with("Thompson sampling via local uncertainty"));
        assert_eq!(all[1], About { names: names(&["mine"]), sentence: None, link: None });
        let all = problems(&names(&["wheel", "my file"]), &[]);
        assert!(
            all[0].sentence.as_ref().unwrap().starts_with("2 features and 5 actions per round. Reward: ")
        );
        assert_eq!(all[1], About { names: names(&["my file"]), sentence: None, link: None });
    }

    /// A table of the user's may have the name of a built-in problem.
    #[test]
    fn a_table_of_the_user_is_not_taken_for_a_problem_of_its_name() {
        let info = problem::info("wheel").unwrap();
        let record = |file: Option<&str>| {
            let files =
                file.map(|name| format!("{{\"name\":\"{name}\",\"sha256\":\"\"}}")).unwrap_or_default();
            let text = format!(
                "{{\"name\":\"wheel\",\"n_features\":2,\"n_actions\":5,\"files\":[{files}],\"first_trial_sha256\":\"\"}}"
            );
            serde_json::from_str::<ProblemRecord>(&text).unwrap()
        };
        assert!(is_of(&record(None), info) && !is_of(&record(Some("wheel.csv")), info));
    }

    #[test]
    fn linked_pages_exist() {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
        // A package holds no documents.
        if !root.join("docs").is_dir() {
            return;
        }
        let registry = Registry::standard();
        let ids: Vec<String> = registry.policies().iter().map(|info| info.id.to_owned()).collect();
        let known = problem::INFOS.iter().map(|info| info.id.to_owned()).collect::<Vec<_>>();
        for about in policies(&ids, &registry).iter().chain(&problems(&known, &[])) {
            let page = about.link.as_ref().unwrap().strip_prefix(REPOSITORY).unwrap();
            assert!(root.join(page).is_file(), "{page}");
        }
    }
}
