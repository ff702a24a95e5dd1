//! `locus problems` and `locus policies`.

use anyhow::{Result, ensure};
use locus::{PolicyInfo, Registry, did_you_mean};
use locus_bench::problem;

use crate::output::{print, print_list};

/// Lists the problems.
pub(crate) fn problems() -> Result<u8> {
    let mut text = String::new();
    for info in &problem::INFOS {
        let rows = info.rows.map_or("generated".to_owned(), |rows| format!("{rows} rows"));
        let file = info.file().map_or(String::new(), |file| format!(" of {file}"));
        let actions = match info.shape.n_action_features {
            0 => "actions".to_owned(),
            n => format!("candidates with {n} features"),
        };
        text.push_str(&format!(
            "{:<16} {:>3} features, {:>2} {actions}, {rows}{file}\n{:<16} {}\n",
            info.id,
            info.shape.n_features,
            info.n_choices(),
            "",
            info.rewards
        ));
    }
    text.push_str(
        "\nYour own data: --csv FILE --label COLUMN for a table, --npz FILE for contexts\nand rewards; `locus inspect FILE` shows how it is read.\n",
    );
    print(&text)?;
    Ok(0)
}

/// Lists all or the given policies, with every setting.
pub(crate) fn policies(ids: &[String], registry: &Registry) -> Result<u8> {
    let all = registry.policies();
    for id in ids {
        let known: Vec<&str> = all.iter().map(|info| info.id.as_str()).collect();
        let hint = did_you_mean(id, known.iter().copied());
        ensure!(
            known.contains(&id.as_str()),
            "no policy is called `{id}`{hint}; there are {}",
            known.join(", ")
        );
    }
    let mut text = String::new();
    for info in all.iter().filter(|info| ids.is_empty() || ids.contains(&info.id)) {
        text.push_str(&describe(info));
        text.push('\n');
    }
    text.push_str("Write id[@preset][key=value,…]; the first preset is the default.\n");
    print_list(&text)?;
    Ok(0)
}

fn describe(info: &PolicyInfo) -> String {
    let mut text = format!("{}\n  {}\n  presets: {}\n", info.id, info.summary, info.presets.join(", "));
    for setting in &info.settings {
        let is_same = setting.defaults.iter().all(|default| *default == setting.defaults[0]);
        let defaults = if is_same {
            setting.defaults[0].clone()
        } else {
            let by_preset = info.presets.iter().zip(&setting.defaults);
            by_preset.map(|(preset, default)| format!("{default} ({preset})")).collect::<Vec<_>>().join(", ")
        };
        text.push_str(&format!(
            "  {} = {defaults}\n      {}\n      {}; default from: {}\n",
            setting.key, setting.doc, setting.expected, setting.source
        ));
    }
    text
}
