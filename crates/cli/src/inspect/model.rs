//! Describes a model: its settings, its training, its parameters.

use serde_json::json;
use toprank::train::rank::auto::BlendAbout;
use toprank::train::rank::scoring::Trees;
use toprank::train::{Model, Scoring, TrainerKind};
use toprank::trees::explain::{gain_importance, show as show_tree, split_importance};

use crate::failure::Failure;
use crate::table::{Style, Table, counted, settings};
use crate::{Common, print, print_json};

/// Prints it; of trees also one tree and the `top` features.
pub fn show(file: &str, tree: u32, top: Option<usize>, common: &Common) -> Result<(), Failure> {
    let model = Model::load(file.as_ref())?;
    let header = model.header();
    if common.json {
        let mut value = json!({
            "file": file,
            "config": header.config,
            "features": header.features,
            "outputs": header.outputs,
            "transforms": header.config.transforms(),
            "reached": header.reached,
            "calibration": header.calibration,
            "position_bias": header.position_bias,
            "parameters": model.scoring().parameters(),
        });
        match model.scoring() {
            Scoring::Network(network, _) => {
                let blocks = network.blocks().iter().map(|b| json!({"name": b.name, "shape": b.shape}));
                value["blocks"] = blocks.collect();
            }
            Scoring::Trees(trees) => value["trees"] = json!(trees.ensemble()),
            Scoring::Blend(_) => {}
        }
        if let Some(blend) = &header.blend {
            value["blend"] = blend_json(blend);
        }
        return print_json(&value);
    }
    let reached = &header.reached;
    // A tree is one boosting round, and has no other steps.
    let (epoch, work) = match model.scoring() {
        _ if header.blend.is_some() => ("epoch", counted(reached.epochs as usize, "epoch")),
        Scoring::Trees(_) => ("round", counted(reached.epochs as usize, "boosting round")),
        Scoring::Network(..) | Scoring::Blend(_) => {
            let epochs = counted(reached.epochs as usize, "epoch");
            ("epoch", format!("{epochs}, {}", counted(reached.steps as usize, "step")))
        }
    };
    let mut text = format!(
        "{file}: a model, its self-test passes\n{}, {}, {} and {} of training data, {work}\n",
        counted(model.scoring().parameters(), "parameter"),
        counted(header.width, "feature"),
        counted(reached.lists, "list"),
        counted(reached.rows, "row"),
    );
    if let Some((number, value)) = reached.best {
        text += &format!(
            "best {} on validation: {value:.4}, in {epoch} {number}\n",
            header.config.valid_metric()
        );
    }
    if !header.calibration.is_empty() {
        text += "calibrated: `toprank predict --probability` gives probabilities\n";
    }
    if let Some(bias) = &header.position_bias {
        let places = bias.positions.iter().zip(&bias.values).take(10);
        let places: Vec<String> = places.map(|(position, value)| format!("{position}: {value:.3}")).collect();
        text += &format!("position bias of clicks, not part of the scores: {}\n", places.join(", "));
    }
    text += "\n";
    text += &settings(&json!(header.config)).render(Style::Table);
    text += "\n";
    if let Some(blend) = &header.blend {
        text += &members(blend).render(Style::Table);
        text += "\n";
    }
    match model.scoring() {
        Scoring::Blend(blend) => {
            let mut table = Table::new(["part", "transforms", "parameters"]).words(2);
            for part in blend.parts() {
                let steps = part.transforms.steps.len().to_string();
                table.row([part.model.clone(), steps, part.scoring.parameters().to_string()]);
            }
            text += &table.render(Style::Table);
        }
        Scoring::Network(network, _) => {
            let mut table = Table::new(["block", "shape", "parameters"]).words(1);
            for block in network.blocks() {
                let shape: Vec<String> = block.shape.iter().map(usize::to_string).collect();
                table.row([block.name.clone(), shape.join(" × "), block.parameters().to_string()]);
            }
            text += &table.render(Style::Table);
        }
        Scoring::Trees(trees) => text += &of_trees(&model, trees, tree, top)?,
    }
    print(&text)
}

/// What each member of a blend was worth.
pub fn members(blend: &BlendAbout) -> Table {
    let on = match blend.folds {
        0 => format!("{} on validation", blend.metric),
        _ => format!("{} out of fold", blend.metric),
    };
    let head = ["member".to_string(), on, "weight".into(), "epochs".into(), "model".into()];
    let mut table = Table::new(head).words(4);
    let show = |value: Option<f64>| value.map_or("–".into(), |value| format!("{value:.4}"));
    for member in &blend.members {
        let weight = match &member.left_out {
            Some(why) if member.weight == 0.0 => format!("0: {why}"),
            _ => format!("{:.2}", member.weight),
        };
        let config = &member.config;
        let model = match config.trainer() {
            // Item models have a loss of their own.
            TrainerKind::Recommend => config.model().to_string(),
            _ => format!("{} with {}", config.model(), config.algorithm()),
        };
        table.row([member.name.clone(), show(member.value), weight, member.epochs.to_string(), model]);
    }
    let folds = if blend.folds == 0 { String::new() } else { counted(blend.folds as usize, "fold") };
    table.row(["blend".to_string(), show(Some(blend.value)), "1.00".into(), String::new(), folds]);
    let without = if of_interactions(blend) { "popularity" } else { "chance" };
    table.row([without.to_string(), show(Some(blend.chance)), String::new(), String::new(), String::new()]);
    table
}

fn of_interactions(blend: &BlendAbout) -> bool {
    blend.members.iter().any(|member| member.config.trainer() == TrainerKind::Recommend)
}

/// The same as JSON.
pub fn blend_json(blend: &BlendAbout) -> serde_json::Value {
    json!({
        "metric": blend.metric,
        "value": blend.value,
        "chance": blend.chance,
        "folds": blend.folds,
        "members": blend.members,
    })
}

/// The name of a feature, or its number from 1.
pub fn feature_name(model: &Model, feature: usize) -> String {
    model.header().features.get(feature).cloned().unwrap_or_else(|| format!("feature {}", feature + 1))
}

fn of_trees(model: &Model, trees: &Trees, tree: u32, top: Option<usize>) -> Result<String, Failure> {
    let ensemble = trees.ensemble();
    let (gains, splits) = (gain_importance(ensemble), split_importance(ensemble));
    let mut order: Vec<usize> = (0..ensemble.width).filter(|&feature| splits[feature] > 0).collect();
    order.sort_by(|&a, &b| gains[b].total_cmp(&gains[a]).then(a.cmp(&b)));
    let all: f64 = gains.iter().sum();
    let mut table = Table::new(["feature", "gain", "fraction", "splits"]);
    for &feature in order.iter().take(top.unwrap_or(20)) {
        let share = if all > 0.0 { format!("{:.1} %", 100.0 * gains[feature] / all) } else { "–".into() };
        let name = feature_name(model, feature);
        table.row([name, format!("{:.4}", gains[feature]), share, splits[feature].to_string()]);
    }
    let mut text = table.render(Style::Table);
    let used = counted(order.len(), "feature");
    text += &format!("{used} of {} used\n", ensemble.width);
    let Some(shown) = ensemble.trees.get(tree as usize - 1) else {
        if ensemble.trees.is_empty() {
            return Ok(text);
        }
        return Err(Failure::usage(format!("--tree must be in 1 … {}, but is {tree}", ensemble.trees.len())));
    };
    let output = match ensemble.outputs {
        1 => String::new(),
        outputs => format!(", for output {}", (tree as usize - 1) % outputs + 1),
    };
    text += &format!(
        "\ntree {tree} of {}: {}, depth {}{output}\n{}",
        ensemble.trees.len(),
        counted_leaves(shown.leaves.len()),
        shown.depth(),
        show_tree(shown, &|feature| feature_name(model, feature))
    );
    Ok(text)
}

fn counted_leaves(leaves: usize) -> String {
    if leaves == 1 { "1 leaf".into() } else { format!("{leaves} leaves") }
}
