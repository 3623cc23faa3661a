//! `toprank recommend`: from interactions to the best unseen items, whatever happens on the way.

mod common;

use common::{Toprank, json};

fn shell() -> Toprank {
    let shell = Toprank::new();
    shell.ok("generate interactions --users 150 --items 200 --length 20 --seed 1 -o demo --quiet");
    shell
}

const RUN: &str = "recommend train --data demo/interactions.csv --split leave-last --quiet";
const SMALL: &str = "--sampler pairs:batch=256:group=5:items=20 --rate 0.02 --epochs 8 --patience 0";

#[test]
fn a_recommender_is_trained_judged_inspected_and_better_than_chance() {
    let shell = shell();
    let trained = json(&shell.ok(&format!(
        "{RUN} --objective ndcg@20 --model mf:width=16 {SMALL} -o rec.toprank --curves curves --json"
    )));
    assert_eq!(trained["pairs"]["test"], 150);
    assert_eq!(shell.read("curves/curve.csv").lines().count(), 9);
    assert!(!shell.has("rec.toprank.checkpoint"), "a finished run leaves nothing to take up");
    let judged =
        json(&shell.ok("recommend evaluate rec.toprank --metrics ndcg@10,ndcg@20,recall@20,map --json"));
    let recall = judged["metrics"]["recall@20"].as_f64().unwrap();
    // By chance 20 of about 180 unseen items.
    assert!(recall > 0.2, "{judged}");
    assert!(judged["beyond"]["coverage"].as_f64().unwrap() > 0.05 && judged["users"] == 150, "{judged}");
    assert_eq!(judged["protocol"], "full ranking over all unseen items");
    let text = shell.ok("recommend evaluate rec.toprank");
    assert!(text.contains("full ranking") && text.contains("coverage") && text.contains("ndcg@10"), "{text}");
    let sampled = shell.ok("recommend evaluate rec.toprank --sampled 20");
    assert!(sampled.contains("SAMPLED: held-out items against 20 drawn unseen ones"), "{sampled}");
    shell.ok("recommend evaluate rec.toprank --on valid --per-user users.csv");
    // Users with too few items have none in validation.
    let valid = trained["pairs"]["valid"].as_u64().unwrap() as usize;
    assert!(valid > 100, "{trained}");
    assert_eq!(shell.read("users.csv").lines().count(), valid + 1);
    assert!(shell.read("users.csv").starts_with("user,ndcg@10,ndcg@20,recall@20\nu1,"));
    let looked_at = json(&shell.ok("inspect rec.toprank --json"));
    assert_eq!((&looked_at["config"]["model"], &looked_at["users"]), (&"mf:width=16".into(), &150.into()));
    assert!(shell.ok("inspect rec.toprank").contains("its self-test passes"));
}

#[test]
fn a_recommender_is_compared_with_popularity_and_with_others_of_the_same_data() {
    let shell = shell();
    for (objective, model) in [("ndcg@20", "a"), ("bpr", "b")] {
        shell.ok(&format!("{RUN} --objective {objective} --model mf:width=8 {SMALL} -o {model}.toprank"));
    }
    let against = "recommend evaluate a.toprank --against popularity --against b.toprank -m ndcg@10";
    let found = json(&shell.ok(&format!("{against} --json")));
    let alone = json(&shell.ok("recommend evaluate b.toprank -m ndcg@10 --json"));
    assert_eq!(found["against"][1]["metrics"], alone["metrics"]);
    let pairs = found["comparisons"][0]["pairs"].as_array().unwrap();
    let names: Vec<_> = pairs.iter().map(|pair| [&pair["first"], &pair["second"]]).collect();
    assert_eq!(names, [["popularity", "b"], ["popularity", "a"], ["b", "a"]]);
    let mean = |i: usize| found["against"][i]["metrics"]["ndcg@10"].as_f64().unwrap();
    let difference = pairs[0]["mean_difference"].as_f64().unwrap();
    assert!((difference - (mean(1) - mean(0))).abs() < 1e-12, "{found}");
    let text = shell.ok(against);
    assert!(text.contains(pairs[0]["verdict"].as_str().unwrap()) && text.contains("popularity"), "{text}");
    shell.ok("generate interactions --users 150 --items 200 --length 20 --seed 2 -o other --quiet");
    shell.ok(&format!("{} --model mf:width=8 {SMALL} -o c.toprank", RUN.replace("demo", "other")));
    let error = shell.fails(3, "recommend evaluate a.toprank --against c.toprank");
    assert!(error.contains("c.toprank: was trained on other interactions"), "{error}");
}

#[test]
fn the_best_items_of_users_are_listed_and_strangers_are_told() {
    let shell = shell();
    shell.ok(&format!("{RUN} --objective listnet --model neumf:width=8:layers=8 {SMALL} -o rec.toprank"));
    let top = json(&shell.ok("recommend top rec.toprank --user u7 --user u9 --k 5 --json"));
    assert_eq!(top["top"][1]["items"].as_array().unwrap().len(), 5);
    let took: Vec<String> = shell
        .read("demo/interactions.csv")
        .lines()
        .filter_map(|line| Some(line.strip_prefix("u7,")?.split(',').next()?.to_string()))
        .collect();
    for best in top["top"][0]["items"].as_array().unwrap() {
        assert!(!took.contains(&best["item"].as_str().unwrap().to_string()), "{best} was taken before");
    }
    assert_eq!(shell.ok("recommend top rec.toprank --user u7 --k 5").lines().count(), 6);
    shell.ok("recommend top rec.toprank --all --k 3 -o top.csv");
    assert_eq!(shell.read("top.csv").lines().count(), 1 + 150 * 3);
    let history = took[..5].join(",");
    let new = json(&shell.ok(&format!("recommend top rec.toprank --history {history} --k 4 --json")));
    assert_eq!(new["top"][0]["items"].as_array().unwrap().len(), 4);
    for (args, words) in [
        ("--user u7777", "user must be a user of the training data; somebody new is folded in by --history"),
        ("--history nothing", "item must be an item of the training data"),
        (&format!("--history {0},{0}", took[0]), "twice"),
    ] {
        let error = shell.fails(2, &format!("recommend top rec.toprank {args}"));
        assert!(error.contains(words), "{error}");
    }
    shell.fails(2, "recommend top rec.toprank");
    let error = shell.fails(3, "recommend top demo/interactions.csv --user u1");
    assert!(error.contains("not a safetensors file"), "{error}");
}

#[test]
fn every_model_has_the_same_bytes_on_any_number_of_threads() {
    let shell = shell();
    for (model, objective) in [
        ("mf:width=8", "song"),
        ("neumf:width=8:layers=8:dropout=0.2", "song-v1"),
        ("two-tower:width=8", "bpr"),
    ] {
        for threads in [1, 2, 4] {
            shell.ok(&format!(
                "{RUN} --objective {objective} --model {model} --sampler pairs:batch=512:items=30 --epochs 2 --threads {threads} -o {threads}.toprank"
            ));
        }
        let one = shell.bytes("1.toprank");
        assert!(one == shell.bytes("2.toprank") && one == shell.bytes("4.toprank"), "{model} {objective}");
    }
}

#[test]
#[cfg(unix)]
fn killed_again_and_again_and_resumed_the_recommender_is_the_same_to_the_byte() {
    let shell = shell();
    let settings = "--objective song-v1 --model neumf:width=8:layers=8:dropout=0.1 --epochs 6 --patience 0 --warm-up 2 \
                    --sampler pairs:batch=128:items=20 --checkpoint-every 0";
    shell.ok(&format!("{RUN} {settings} -o whole.toprank"));
    let mut kills = 0;
    let mut command = format!("{RUN} {settings} -o killed.toprank");
    for round in 0..6 {
        if shell.signalled(&command, "-KILL", "killed.toprank.checkpoint", 2 + round).is_none() {
            kills += 1;
        }
        command = "recommend train --resume killed.toprank --checkpoint-every 0 --quiet".into();
    }
    assert!(kills >= 2, "only {kills} of six runs were killed before their end");
    shell.ok("recommend train --resume killed.toprank --quiet");
    assert_eq!(shell.bytes("whole.toprank"), shell.bytes("killed.toprank"));
    let error = shell.fails(1, "recommend train --resume absent.toprank");
    assert!(error.contains("neither such a model nor"), "{error}");
    let error = shell.fails(2, "recommend train --resume killed.toprank --rate 0.1");
    assert!(error.contains("--resume takes no other settings"), "{error}");
}

/// A step so small that nothing moves.
const STILL: &str = "--epochs 1 --learning-rate 1e-30 --optimiser adam --sampler pairs:batch=256:items=20";

#[test]
fn a_warm_start_finds_users_and_items_by_name_and_says_who_is_new() {
    let shell = shell();
    let model = "--model neumf:width=8:layers=8";
    shell.ok(&format!("{RUN} {model} {SMALL} -o first.toprank"));
    let value = |model: &str, on: &str| {
        json(&shell.ok(&format!("recommend evaluate {model} -m ndcg@10 --on {on} --json")))["metrics"]["ndcg@10"]
            .as_f64()
            .unwrap()
    };
    let same = json(&shell.ok(&format!("{RUN} {model} {STILL} --from first.toprank -o same.toprank --json")));
    assert_eq!((&same["from"]["new_users"], &same["from"]["new_items"]), (&0.into(), &0.into()), "{same}");
    assert_eq!(value("same.toprank", "test"), value("first.toprank", "test"));
    // The same lines in another order, with a user and an item that are new.
    let text = shell.read("demo/interactions.csv");
    let (head, lines) = text.split_once('\n').unwrap();
    let turned: String = lines.lines().rev().map(|line| line.to_string() + "\n").collect();
    let item = lines.split(',').nth(1).unwrap();
    let new = format!("stranger,{item},1,1\nstranger,novelty,1,2\n");
    shell.file("more.csv", &format!("{head}\n{new}{turned}"));
    let run = "recommend train --data more.csv --split none";
    let (_, notes) = shell.with_notes(&format!("{run} {model} {STILL} --from first.toprank -o more.toprank"));
    assert!(
        notes.contains(
            "warm start: 1 of 151 users and 1 of 201 items are new to the model and start at random"
        ),
        "{notes}"
    );
    let top = |model: &str| {
        let top = json(&shell.ok(&format!("recommend top {model} --user u7 --k 150 --json")));
        let items = top["top"][0]["items"].as_array().unwrap().iter();
        items.map(|best| best["item"].as_str().unwrap().to_string()).collect::<Vec<_>>()
    };
    let (old, new) = (top("first.toprank"), top("more.toprank"));
    assert_eq!(old[..20], new.into_iter().filter(|item| item != "novelty").collect::<Vec<_>>()[..20]);
    for (code, args, words) in [
        (
            2,
            "--model mf:width=8",
            "the model must be of the kind neumf:width=8:layers=8, as the model to warm-start from",
        ),
        (2, "--model neumf:width=6:layers=8", "numbers per user"),
        (2, "--model neumf:width=8:layers=4", "which has"),
        (3, &format!("{model} --from demo/interactions.csv"), "not a safetensors file"),
        (2, &format!("{model} --warm-up-learning-rate 0.1"), "or given with the number of warm-up epochs"),
    ] {
        let from = if args.contains("--from") { "" } else { "--from first.toprank" };
        let error = shell.fails(code, &format!("{RUN} {args} {from} -o x.toprank"));
        assert!(error.contains(words), "{args}: {error}");
    }
    shell.file("others.csv", &format!("{head}\n{}", lines.replace(",i", ",other")));
    let error = shell
        .fails(3, &format!("recommend train --data others.csv {model} --from first.toprank -o x.toprank"));
    assert!(
        error.contains("others.csv") && error.contains("is one of the model to warm-start from"),
        "{error}"
    );
}

#[test]
#[cfg(unix)]
fn a_warm_start_with_two_learning_rates_is_resumed_to_the_byte_and_only_from_the_same_model() {
    let shell = shell();
    let model = "--objective song --model mf:width=8 --sampler pairs:batch=128:items=20 --patience 0";
    shell.ok(&format!("{RUN} {model} --epochs 2 -o first.toprank"));
    shell.ok(&format!("{RUN} {model} --epochs 3 -o other.toprank"));
    let settings = format!(
        "{model} --epochs 6 --warm-up 2 --warm-up-lr 0.03 --lr 0.004 --from first.toprank --checkpoint-every 0"
    );
    shell.ok(&format!("{RUN} {settings} -o whole.toprank --curves curves"));
    let curve = shell.read("curves/curve.csv");
    let head: Vec<&str> = curve.lines().next().unwrap().split(',').collect();
    let at = head.iter().position(|name| *name == "learning_rate").unwrap();
    let rates: Vec<&str> = curve.lines().skip(1).map(|line| line.split(',').nth(at).unwrap()).collect();
    assert_eq!(rates, ["0.03", "0.03", "0.004", "0.004", "0.004", "0.004", "0.004", "0.004"]);
    let command = format!("{RUN} {settings} -o killed.toprank");
    for times in [3, 5] {
        let command = match times {
            3 => &command,
            _ => "recommend train --resume killed.toprank --checkpoint-every 0 --quiet",
        };
        assert_eq!(shell.signalled(command, "-KILL", "killed.toprank.checkpoint", times), None, "not killed");
    }
    let (first, other) = (shell.bytes("first.toprank"), shell.bytes("other.toprank"));
    shell.file_of_bytes("first.toprank", &other);
    let error = shell.fails(3, "recommend train --resume killed.toprank --quiet");
    assert!(
        error.contains("the model to warm-start from changed") && error.contains("first.toprank"),
        "{error}"
    );
    shell.file_of_bytes("first.toprank", &first);
    shell.ok("recommend train --resume killed.toprank --quiet");
    assert_eq!(shell.bytes("whole.toprank"), shell.bytes("killed.toprank"));
}

#[test]
fn validation_among_drawn_items_is_labelled_as_such() {
    let shell = shell();
    let run = format!("{RUN} --model mf:width=8 {SMALL}");
    let full = json(&shell.ok(&format!("{run} -o full.toprank --json")));
    assert_eq!(full["protocol"], "full ranking over all unseen items");
    let sampled = json(&shell.ok(&format!("{run} --valid-items 20 -o sampled.toprank --json")));
    assert_eq!(
        sampled["protocol"],
        "SAMPLED: held-out items against 20 drawn unseen ones, not a full ranking"
    );
    let best = |result: &serde_json::Value| result["best"]["value"].as_f64().unwrap();
    assert!(best(&sampled) > best(&full), "{sampled} {full}");
    let epoch = sampled["best"]["epoch"].as_u64().unwrap();
    let again = shell.ok(&format!("{run} --valid-items 20 -o again.toprank"));
    assert!(again.contains("on validation (SAMPLED: held-out items against 20 drawn"), "{again}");
    assert!(again.contains(&format!("in epoch {epoch}")), "{again}");
    assert_eq!(shell.bytes("sampled.toprank"), shell.bytes("again.toprank"));
    // What the run says is what an evaluation of the kept model with the same draws says.
    let found =
        json(&shell.ok("recommend evaluate sampled.toprank --on valid --sampled 20 -m ndcg@20 --json"));
    assert!((found["metrics"]["ndcg@20"].as_f64().unwrap() - best(&sampled)).abs() < 1e-12, "{found}");
}

#[test]
#[cfg(unix)]
fn tables_in_a_folder_give_the_same_bytes_killed_or_not_and_leave_nothing_there() {
    let shell = shell();
    let settings = "--objective listnet --model mf:width=8 --epochs 6 --patience 0 --sampler pairs:batch=128:items=20 \
                    --checkpoint-every 0";
    shell.ok(&format!("{RUN} {settings} -o whole.toprank"));
    shell.ok("generate interactions --users 5 --items 5 --length 2 --seed 1 -o tables --quiet");
    let there = shell.names("tables");
    shell.ok(&format!("{RUN} {settings} --tables tables -o mapped.toprank"));
    assert_eq!(shell.bytes("whole.toprank"), shell.bytes("mapped.toprank"));
    let command = format!("{RUN} {settings} --tables tables -o killed.toprank");
    assert_eq!(shell.signalled(&command, "-KILL", "killed.toprank.checkpoint", 3), None, "not killed");
    assert_eq!(shell.names("tables"), there, "the tables have gone with the process");
    let resume = "recommend train --resume killed.toprank --checkpoint-every 0 --quiet";
    assert_eq!(shell.signalled(resume, "-KILL", "killed.toprank.checkpoint", 3), None, "not killed");
    shell.ok("recommend train --resume killed.toprank --tables memory --quiet");
    assert_eq!(shell.bytes("whole.toprank"), shell.bytes("killed.toprank"));
    assert_eq!(shell.names("tables"), there);
    let error = shell.fails(1, &format!("{RUN} {settings} --tables absent -o x.toprank"));
    assert!(error.contains("absent: no table of") && error.contains("--tables memory"), "{error}");
}

#[test]
fn a_time_between_checkpoints_that_is_none_is_refused_before_anything_is_read() {
    for command in ["recommend train", "embed train", "train"] {
        for time in ["-1", "soon", "NaN"] {
            let error =
                Toprank::new().fails(2, &format!("{command} --data absent -o x --checkpoint-every {time}"));
            assert!(
                error.contains("--checkpoint-every") && error.contains("seconds of 0 or above"),
                "{error}"
            );
        }
    }
}

#[test]
fn recency_is_the_default_where_time_is_known_and_refused_where_it_is_not() {
    let shell = shell();
    let settings =
        "--objective listnet --model mf:width=8 --epochs 3 --patience 0 --sampler pairs:batch=128:items=20";
    for (name, recency) in [("default", ""), ("ten", "--recency 10"), ("none", "--recency 0")] {
        shell.ok(&format!("{RUN} {settings} {recency} -o {name}.toprank"));
    }
    assert_eq!(shell.bytes("default.toprank"), shell.bytes("ten.toprank"));
    assert_ne!(shell.bytes("default.toprank"), shell.bytes("none.toprank"));
    let random = "recommend train --data demo/interactions.csv --split random --quiet";
    let error = shell.fails(2, &format!("{random} {settings} --recency 5 -o x.toprank"));
    assert!(error.contains("recency must be 0 here") && error.contains("not random"), "{error}");
    shell.ok(&format!("{random} {settings} --recency 0 -o random.toprank"));
    let error = shell.fails(2, &format!("{RUN} {settings} --recency -3 -o x.toprank"));
    assert!(error.contains("recency must be a number of 0 or above, but is -3"), "{error}");
    let popular = "--objective song --sampler pairs:batch=128:items=20:popular=0.75";
    shell.ok(&format!("{RUN} --model mf:width=8 --epochs 2 {popular} -o popular.toprank"));
}

#[test]
fn given_parts_users_without_history_and_features_are_taken() {
    let shell = Toprank::new();
    shell.file("train.txt", "a 1 2 3\nb 2 3\nc 1 4\nd 4 5\nlonely\n");
    shell.file("valid.txt", "a 4\nb 1\n");
    shell.file("test.txt", "c 2\nlonely 1\nstranger 3\n");
    shell.file("items.csv", "item,year,length\n1,1990,90\n2,1991,\n3,1999,120\n4,2001,80\n");
    let given =
        "recommend train --data train.txt --valid valid.txt --test test.txt --input-format adjacency --quiet";
    shell.ok(&format!(
        "{given} --model two-tower:width=4:layers=4:out=4 --item-features items.csv --epochs 3 -o rec.toprank"
    ));
    let judged = json(&shell.ok("recommend evaluate rec.toprank --metrics mrr --json"));
    assert_eq!((judged["users"].as_u64(), judged["items"].as_u64()), (Some(3), Some(5)));
    let top = json(&shell.ok("recommend top rec.toprank --user stranger --k 3 --json --quiet"));
    assert_eq!(top["top"][0]["by_popularity"], true, "{top}");
    shell.file("again.txt", "a 2\n");
    let error = shell.fails(
        2,
        "recommend train --data train.txt --test again.txt --input-format adjacency -o x.toprank --quiet",
    );
    assert!(error.contains("user \"a\" with item \"2\""), "{error}");
    let error = shell.fails(2, &format!("{given} --model mf --item-features items.csv -o x.toprank"));
    assert!(error.contains("are read by --model two-tower"), "{error}");
    let error = shell.fails(2, &format!("{given} --objective ndgc@20 -o x.toprank"));
    assert!(error.contains("ndcg"), "{error}");
    let error = shell.fails(2, "recommend evaluate rec.toprank --metrics ncdg");
    assert!(error.contains("ndcg"), "{error}");
    shell.ok(
        "recommend train --data train.txt --input-format adjacency --split none --epochs 1 -o none.toprank --quiet",
    );
    let error = shell.fails(2, "recommend evaluate none.toprank");
    assert!(error.contains("the part test must be one with pairs"), "{error}");
}

#[test]
fn item_models_have_the_same_bytes_on_any_number_of_threads_and_answer_for_old_and_new_users() {
    let shell = shell();
    for model in ["ease", "knn", "als:width=8", SEQUENCE, "pop"] {
        for threads in [1, 3] {
            shell.ok(&format!(
                "{RUN} --objective ndcg@10 --model {model} --threads {threads} -o {threads}.toprank"
            ));
        }
        assert_eq!(shell.bytes("1.toprank"), shell.bytes("3.toprank"), "{model}");
        let of = |history: &str| {
            json(&shell.ok(&format!("recommend evaluate 1.toprank -m ndcg@10 --json --quiet {history}")))
        };
        let (given, train) = (of(""), of("--history train"));
        assert_eq!((&given["history"], &train["history"]), (&"train+valid".into(), &"train".into()));
        let value = |found: &serde_json::Value| found["metrics"]["ndcg@10"].as_f64().unwrap();
        assert!(value(&train) > 0.02, "{model}: {train}");
        // What is popular does not depend on who asks.
        assert_eq!(model == "pop", value(&given) == value(&train), "{model}");
        assert_eq!(shell.ok("recommend top 1.toprank --user u3 --k 4 --quiet").lines().count(), 5);
        assert_eq!(shell.ok("recommend top 1.toprank --history i3,i7 --k 4 --quiet").lines().count(), 5);
        let inspected = shell.ok("inspect 1.toprank");
        assert!(inspected.contains(model.split(':').next().unwrap()), "{inspected}");
    }
    shell.ok(&format!("{RUN} --objective ndcg@10 --model ease --refit -o refit.toprank"));
    let refused = shell.fails(2, "recommend evaluate refit.toprank -m ndcg@10 --on valid");
    assert!(refused.contains("--refit"), "{refused}");
    let error = shell.fails(2, &format!("{RUN} --model ease --objective song -o no.toprank"));
    assert!(error.contains("a loss of its own"), "{error}");
}

/// A small one, but of several shards a batch.
const SEQUENCE: &str = "sequence:width=12:hidden=20:length=9:dropout=0.1:batch=50:learning-rate=0.01";

#[test]
#[cfg(unix)]
fn a_sequence_model_has_the_same_bytes_on_any_number_of_threads_and_when_it_is_killed_and_resumed() {
    let shell = shell();
    for drawn in ["", ":negatives=40", ":loss=gbce"] {
        let settings = format!(
            "--objective ndcg@10 --model {SEQUENCE}{drawn} --epochs 5 --patience 0 --checkpoint-every 0"
        );
        for threads in [1, 2, 4] {
            shell.ok(&format!("{RUN} {settings} --threads {threads} -o {threads}.toprank"));
        }
        let whole = shell.bytes("1.toprank");
        assert!(whole == shell.bytes("2.toprank") && whole == shell.bytes("4.toprank"), "{drawn}");
        let mut command = format!("{RUN} {settings} -o killed.toprank");
        for round in 0..3 {
            shell.signalled(&command, "-KILL", "killed.toprank.checkpoint", 1 + round);
            command = "recommend train --resume killed.toprank --checkpoint-every 0 --quiet".into();
        }
        shell.ok("recommend train --resume killed.toprank --quiet");
        assert!(whole == shell.bytes("killed.toprank"), "{drawn}");
        shell.remove("killed.toprank");
    }
    let error =
        shell.fails(3, &format!("{} --model {SEQUENCE} -o no.toprank", RUN.replace("leave-last", "random")));
    assert!(error.contains("order in time is not known"), "{error}");
    let error = shell.fails(2, &format!("{RUN} --model {SEQUENCE} --recency 3 -o no.toprank"));
    assert!(error.contains("learns from the order"), "{error}");
}

#[test]
fn vectors_score_from_what_was_learned_alone() {
    let shell = shell();
    shell.ok(&format!("{RUN} --objective ndcg@10 --model mf:width=8 {SMALL} -o rec.toprank"));
    let found = json(&shell.ok("recommend evaluate rec.toprank -m ndcg@10 --json --quiet"));
    assert_eq!(found["history"], "train");
}

#[test]
#[cfg(unix)]
fn auto_has_the_same_bytes_on_any_number_of_threads_when_killed_and_by_its_list_of_members() {
    let shell = shell();
    let settings = "--objective ndcg@10 --model auto --members knn,ease,als:epochs=3,sequence:epochs=2,pop";
    for threads in [1, 2, 3] {
        shell.ok(&format!("{RUN} {settings} --threads {threads} -o {threads}.toprank"));
    }
    let whole = shell.bytes("1.toprank");
    assert!(whole == shell.bytes("2.toprank") && whole == shell.bytes("3.toprank"));
    let mut command = format!("{RUN} {settings} --checkpoint-every 0 -o killed.toprank");
    for round in 0..3 {
        shell.signalled(&command, "-KILL", "killed.toprank.checkpoint", 2 + round);
        command = "recommend train --resume killed.toprank --checkpoint-every 0 --quiet".into();
    }
    shell.ok("recommend train --resume killed.toprank --quiet");
    assert!(whole == shell.bytes("killed.toprank"));
    let inspected = json(&shell.ok("inspect 1.toprank --json"));
    let members = inspected["blend"]["members"].as_array().unwrap();
    assert_eq!(members.len(), 5, "{inspected}");
    let weights: f64 = members.iter().map(|member| member["weight"].as_f64().unwrap()).sum();
    assert!((weights - 1.0).abs() < 1e-9, "{inspected}");
    let text = shell.ok("inspect 1.toprank");
    assert!(text.contains("ndcg@10 on validation") && text.contains("popularity"), "{text}");
    assert_eq!(shell.ok("recommend top 1.toprank --user u3 --k 4 --quiet").lines().count(), 5);
    assert_eq!(shell.ok("recommend top 1.toprank --history i3,i7 --k 4 --quiet").lines().count(), 5);
}

#[test]
fn auto_trains_within_a_budget_on_lines_of_users_with_their_items_in_order() {
    let shell = Toprank::new();
    let line = |user: u32| {
        let items: Vec<String> =
            (0..7 + user % 4).map(|k| ((user * 5 + k * 3) % 60 + 1).to_string()).collect();
        format!("{user} {}\n", items.join(" "))
    };
    shell.file("seq.txt", &(1..=200).map(line).collect::<String>());
    let trained = json(&shell.ok(
        "recommend train --data seq.txt --split leave-last --objective ndcg@10 --model auto --budget 3s --seed 1 -o rec.toprank \
         --json --quiet",
    ));
    assert!(trained["config"]["members"].as_str().unwrap().starts_with("knn"), "{trained}");
    assert_eq!(trained["config"]["budget"], serde_json::Value::Null, "the list says it all");
    let found =
        json(&shell.ok("recommend evaluate rec.toprank -m ndcg@10,hit@10 --history train+valid --json"));
    // The next item is always the third behind the last one.
    assert!(found["metrics"]["ndcg@10"].as_f64().unwrap() > 0.3, "{found}");
    for model in ["pop", "knn"] {
        assert!(found["baselines"][model]["ndcg@10"].is_number(), "{found}");
    }
    let error = shell.fails(2, "recommend train --data seq.txt --model auto --epochs 3 -o no.toprank");
    assert!(error.contains("omitted with --model auto"), "{error}");
}

#[test]
fn items_are_listed_with_titles_within_filters_and_as_parquet() {
    let shell = shell();
    shell.ok(&format!("{RUN} --objective ndcg@10 --model ease -o rec.toprank"));
    shell.file("titles.csv", "item,title\ni1,\"One, the first\"\ni2,Two\n");
    shell.file("some.txt", "i1\ni2\ni3\nnothing\n");
    let listed = "recommend top rec.toprank --user u3 --repeat --only some.txt --item-names titles.csv";
    let (text, notes) = shell.with_notes(listed);
    assert_eq!(text.lines().count(), 4, "{text}");
    for words in ["One, the first", "Two", "i3"] {
        assert!(text.contains(words), "{text}");
    }
    assert!(notes.contains("--only: 1 of 4 items are unknown to the model"), "{notes}");
    let found = json(&shell.ok(&format!("{listed} --exclude i1 --json --quiet")));
    let items = found["top"][0]["items"].as_array().unwrap();
    assert_eq!(items.len(), 2, "{found}");
    let title = |item: &str| items.iter().find(|i| i["item"] == item).unwrap()["title"].clone();
    assert_eq!((title("i2"), title("i3")), ("Two".into(), serde_json::Value::Null));
    shell.ok(&format!("{listed} --exclude @some.txt -o none.csv --quiet"));
    assert_eq!(shell.read("none.csv"), "user,rank,item,score,title\n");
    shell.ok("recommend top rec.toprank --all --k 3 -o top.csv --item-names titles.csv --quiet");
    let csv = shell.read("top.csv");
    assert!(
        csv.starts_with("user,rank,item,score,title\nu1,1,") && csv.lines().count() == 1 + 150 * 3,
        "{csv}"
    );
    #[cfg(feature = "parquet")]
    {
        shell.ok("recommend top rec.toprank --all --k 3 -o top.parquet --quiet");
        let bytes = shell.bytes("top.parquet");
        assert!(bytes.starts_with(b"PAR1") && bytes.ends_with(b"PAR1"));
        // Read again by our own reader: 450 rows.
        shell.ok("convert top.parquet again.csv --list user --item item --label score --quiet");
        assert_eq!(shell.read("again.csv").lines().count(), 1 + 150 * 3);
    }
    shell.file("unknown.txt", "nothing\n");
    let error = shell.fails(3, "recommend top rec.toprank --user u3 --only unknown.txt");
    assert!(error.contains("no item of the model"), "{error}");
}

#[test]
fn recommenders_are_compared_by_paired_tests_over_users() {
    let shell = shell();
    for (model, name) in [("ease", "a"), ("knn", "b")] {
        shell.ok(&format!("{RUN} --objective ndcg@10 --model {model} -o {name}.toprank"));
    }
    let found = json(&shell.ok("recommend compare popularity a.toprank b.toprank -m ndcg@10 --json --quiet"));
    let alone = json(&shell.ok("recommend evaluate b.toprank -m ndcg@10 --json --quiet"));
    assert_eq!(found["models"][2]["metrics"], alone["metrics"], "{found}");
    assert_eq!(found["models"][0]["metrics"], alone["baselines"]["pop"], "{found}");
    let pairs = found["comparisons"][0]["pairs"].as_array().unwrap();
    assert_eq!(pairs.len(), 3, "{found}");
    let text = shell.ok("recommend compare popularity a.toprank b.toprank -m ndcg@10");
    for pair in pairs {
        assert!(text.contains(pair["verdict"].as_str().unwrap()), "{text}");
    }
    let error = shell.fails(2, "recommend compare popularity popularity");
    assert!(error.contains("no model file"), "{error}");
    let report = shell.ok("recommend evaluate a.toprank -m ndcg@10 --baselines pop,knn:neighbours=20,ease");
    for words in ["baseline pop", "baseline knn:neighbours=20", "intra list distance", "serendipity", "Gini"]
    {
        assert!(report.contains(words), "{words}: {report}");
    }
    assert!(!shell.ok("recommend evaluate a.toprank -m ndcg@10 --baselines none").contains("baseline"));
    let error = shell.fails(2, "recommend evaluate a.toprank --baselines als");
    assert!(error.contains("a model in closed form"), "{error}");
}
