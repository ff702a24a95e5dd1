//! The nets of the LU policies, drawn from the settings with which they ran.

use std::collections::HashMap;

use super::{Figure, Scene, WIDTH, cut};
use crate::report::svg::{Anchor, Area, Canvas, FAINT, INK, Stroke, TextStyle, text_width};

/// One box: what it is, and how many numbers leave it.
#[derive(Clone, Debug, PartialEq)]
struct Block {
    name: String,
    size: String,
    kind: Kind,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Input,
    Layer,
    Output,
}

/// From inputs over two branches to the latent variable, and on to the rewards.
#[derive(Clone, Debug, PartialEq)]
struct Nets {
    shared: Vec<Block>,
    upper: Vec<Block>,
    lower: Vec<Block>,
    latent: Block,
    decoder: Vec<Block>,
    words: String,
}

const ROW: f64 = 142.0;
const NAME_WIDTH: f64 = 20.0;

pub(super) fn draw(scene: &Scene<'_>) -> Option<Figure> {
    // Policies with the same nets share a drawing.
    let mut drawings: Vec<(Nets, Vec<String>)> = Vec::new();
    let runs = scene.group.folders.iter().filter_map(|folder| folder.run.as_ref());
    for record in runs.flat_map(|run| &run.policies) {
        let Some(nets) = nets(&record.settings) else { continue };
        match drawings.iter_mut().find(|(other, _)| *other == nets) {
            Some((_, names)) if names.contains(&record.policy) => {}
            Some((_, names)) => names.push(record.policy.clone()),
            None => drawings.push((nets, vec![record.policy.clone()])),
        }
    }
    if drawings.is_empty() {
        return None;
    }
    let title = "Architecture of the LU policies";
    let mut canvas = scene.canvas("architecture", ROW * drawings.len() as f64 + 10.0, title);
    for (row, (nets, names)) in drawings.iter().enumerate() {
        draw_nets(&mut canvas, nets, &names.join(", "), ROW * row as f64);
    }
    let caption = "From the settings in run.json. A box is a layer with the number of its outputs; layers named ReLU end in one, \
                   the others are linear. C features, A actions. z is drawn once for a decision; e and ε are standard normal \
                   noise, ε times the number shown."
        .to_owned();
    Some(Figure { id: scene.id("architecture"), title: title.to_owned(), caption, svg: canvas.finish() })
}

/// What the settings of a policy, all spelled out, say of its nets; `None` if it is no LU policy of this kind.
fn nets(settings: &str) -> Option<Nets> {
    let (id, rest) = settings.split_once('[')?;
    let of: HashMap<&str, &str> =
        rest.trim_end_matches(']').split(',').filter_map(|pair| pair.split_once('=')).collect();
    if !id.starts_with("lu-") {
        return None;
    }
    let block = |name: &str, size: &str, kind| Block { name: name.to_owned(), size: size.to_owned(), kind };
    let layers = |key: &str| -> Option<Vec<Block>> {
        let sizes = of.get(key)?.split('x').filter(|size| *size != "none");
        Some(sizes.map(|size| block("ReLU", size, Kind::Layer)).collect())
    };
    let latent = *of.get("latent_dim")?;
    let (seen, seen_size) = match *of.get("latent_input")? {
        "ones" => ("ones", "C"),
        _ => ("x", "C"),
    };
    let link = match *of.get("latent_std_link")? {
        "exp-half" => "σ = exp(·/2)",
        _ => "σ = exp",
    };
    let input = |name: &str, size: &str| vec![block(name, size, Kind::Input)];
    let output = |name: &str| vec![block(name, latent, Kind::Output)];
    let (shared, upper, lower, words) = if of.contains_key("encoder_layers") {
        let shared = [input(seen, seen_size), layers("encoder_layers")?].concat();
        let heads = layers("head_layers")?;
        let (upper, lower) = ([heads.clone(), output("μ")].concat(), [heads, output(link)].concat());
        (shared, upper, lower, "z = μ + σ·e".to_owned())
    } else {
        let noise = format!("{seen}, {}·ε", of.get("noise_std")?);
        let upper = [input(&noise, "C + C"), layers("psi_layers")?, output("ψ")].concat();
        let lower = [input(seen, seen_size), layers("scale_layers")?, output(link)].concat();
        let draws: usize = of.get("extra_draws")?.parse().ok()?;
        (
            Vec::new(),
            upper,
            lower,
            format!("z = ψ + σ·e;  q(z|x) mixes over {} draws of ψ", draws.checked_add(1)?),
        )
    };
    let decoder = [
        input("z, x", &format!("{latent} + C")),
        layers("decoder_layers")?,
        vec![block("mean reward", "A", Kind::Output)],
    ]
    .concat();
    let words = format!("{words};  p(z) = N(0, s²), s = {} at the start", of.get("prior_std")?);
    Some(Nets { shared, upper, lower, latent: block("z", latent, Kind::Output), decoder, words })
}

fn draw_nets(canvas: &mut Canvas, nets: &Nets, names: &str, top: f64) {
    let branch = nets.upper.len().max(nets.lower.len());
    let n_places = nets.shared.len() + branch + 1 + nets.decoder.len();
    let pitch = ((WIDTH - 2.0 * NAME_WIDTH) / n_places as f64).min(106.0);
    let width = pitch - 24.0;
    let (upper, middle, lower) = (top + 56.0, top + 83.0, top + 110.0);
    let place = |index: usize, y: f64| Area {
        x: NAME_WIDTH + pitch * index as f64,
        y: y - 19.0,
        width,
        height: 38.0,
    };
    let names = cut(names, 13.0, WIDTH * 0.55);
    canvas.text((NAME_WIDTH, top + 20.0), &names, TextStyle::new(13.0).bold());
    let after = NAME_WIDTH + text_width(&names, 13.0, true) + 18.0;
    canvas.text((after, top + 20.0), &nets.words, TextStyle::new(12.0).colored(FAINT));
    let shared = draw_chain(canvas, &nets.shared, 0, None, &|index| place(index, middle));
    let z_place = nets.shared.len() + branch;
    for (blocks, y) in [(&nets.upper, upper + 0.0), (&nets.lower, lower + 9.0)] {
        // A shorter branch ends where the longer one does.
        let start = z_place - blocks.len();
        let start = if nets.shared.is_empty() { start } else { nets.shared.len() };
        let end = draw_chain(canvas, blocks, start, shared, &|index| place(index, y - 4.0));
        if let Some(end) = end {
            arrow(canvas, end, place(z_place, middle));
        }
    }
    draw_block(canvas, &nets.latent, place(z_place, middle));
    draw_chain(canvas, &nets.decoder, z_place + 1, Some(place(z_place, middle)), &|index| {
        place(index, middle)
    });
}

/// Draws blocks one after another, each joined to the one before, and returns where the last one is.
fn draw_chain(
    canvas: &mut Canvas,
    blocks: &[Block],
    start: usize,
    mut before: Option<Area>,
    place: &dyn Fn(usize) -> Area,
) -> Option<Area> {
    for (index, block) in blocks.iter().enumerate() {
        let area = place(start + index);
        if let Some(before) = before {
            arrow(canvas, before, area);
        }
        draw_block(canvas, block, area);
        before = Some(area);
    }
    before
}

fn draw_block(canvas: &mut Canvas, block: &Block, area: Area) {
    let fill = match block.kind {
        Kind::Input => "#ffffff",
        Kind::Layer => "#e8eef4",
        Kind::Output => "#f6e3cf",
    };
    canvas.rect(area, fill, Some(&Stroke::solid(INK, 1.0)));
    let middle = area.x + area.width / 2.0;
    let size = 12.0;
    let name = cut(&block.name, size, area.width - 4.0);
    canvas.text((middle, area.y + 16.0), &name, TextStyle::new(size).anchored(Anchor::Middle));
    let size_text = cut(&block.size, 11.0, area.width - 4.0);
    canvas.text(
        (middle, area.y + 31.0),
        &size_text,
        TextStyle::new(11.0).anchored(Anchor::Middle).colored("#555555"),
    );
}

/// From the right edge of one box to the left edge of another.
fn arrow(canvas: &mut Canvas, from: Area, to: Area) {
    let (start, end) = ((from.right(), from.y + from.height / 2.0), (to.x, to.y + to.height / 2.0));
    let (dx, dy) = (end.0 - start.0, end.1 - start.1);
    let length = dx.hypot(dy).max(1e-9);
    let (ux, uy) = (dx / length, dy / length);
    let back = (end.0 - 7.0 * ux, end.1 - 7.0 * uy);
    canvas.line(start, back, &Stroke::solid(INK, 1.1));
    let head = [end, (back.0 - 3.0 * uy, back.1 + 3.0 * ux), (back.0 + 3.0 * uy, back.1 - 3.0 * ux)];
    canvas.polygon(&head, INK, 1.0);
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sizes(blocks: &[Block]) -> Vec<&str> {
        blocks.iter().map(|block| block.size.as_str()).collect()
    }

    /// What is drawn is what the policies are: read from their own words.
    #[test]
    fn the_settings_of_every_lu_policy_can_be_drawn() {
        let full = |spec: &str| spec.parse::<locus::PolicySpec>().unwrap().full();
        let gauss = nets(&full("lu-gauss")).unwrap();
        assert_eq!((sizes(&gauss.shared), sizes(&gauss.upper)), (vec!["C", "100", "50"], vec!["50"]));
        assert_eq!(sizes(&gauss.decoder), ["50 + C", "100", "50", "A"]);
        let paper = nets(&full("lu-gauss@paper")).unwrap();
        assert_eq!(
            (sizes(&paper.lower), sizes(&paper.decoder)),
            (vec!["50", "50"], vec!["50 + C", "50", "A"])
        );
        let sivi = nets(&full("lu-sivi[psi_layers=7x8,latent_dim=3]")).unwrap();
        assert_eq!(
            (sizes(&sivi.upper), sizes(&sivi.lower)),
            (vec!["C + C", "7", "8", "3"], vec!["C", "50", "3"])
        );
        assert!(sivi.words.contains("51 draws"));
        let ablation = nets(&full("lu-sivi-ablation")).unwrap();
        assert!(ablation.lower[0].name == "ones" && ablation.decoder[0].name == "z, x");
        assert_eq!(nets(&full("lin-full-post")), None);
        assert_eq!(nets("lu-new[depth=3]"), None);
    }
}
