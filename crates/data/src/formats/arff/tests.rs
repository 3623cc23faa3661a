use super::*;

fn arff(text: &str, options: &ReadOptions) -> Result<Dataset, ReadError> {
    read(&Source::bytes("t.arff", text.as_bytes().to_vec()), options)
}

fn message(text: &str) -> String {
    arff(text, &ReadOptions::default()).unwrap_err().to_string()
}

#[test]
fn dense_rows_become_one_list_per_label() {
    let data = arff(std::str::from_utf8(FORMAT.example).unwrap(), &ReadOptions::default()).unwrap();
    assert_eq!(data.output_names, Some(["beach", "sun set"].into_iter().collect()));
    assert_eq!(data.lists.offsets, [0, 3, 5]);
    assert_eq!(data.lists.rows, Some(vec![0, 1, 2, 0, 2]), "row 1 is not judged for the second label");
    assert_eq!(data.lists.labels, [1.0, 0.0, 1.0, 0.0, 1.0]);
    assert_eq!(data.columns[1].levels, Some(["red", "dark blue"].into_iter().collect()));
    assert_eq!((data.features.get(1, 0), data.features.get(1, 1)), (-0.03, 1.0));
    assert!(data.features.get(2, 0).is_nan() && data.features.get(2, 1).is_nan());
    assert_eq!(data.lines.of(2), Some(10));
}

#[test]
fn sparse_rows_leave_out_the_first_value() {
    let text = "@RELATION x\n@Attribute f REAL\n@ATTRIBUTE c {a,b,c}\n@attribute y {1,0}\n@attribute z {0,1}\n\
                @data\n{0 2.5,1 b,3 1}\n{}\n{ 0 ?, 2 0 } % end\n";
    let options = ReadOptions { labels: vec!["z".into(), "y".into()], ..ReadOptions::default() };
    let data = arff(text, &options).unwrap();
    assert_eq!(data.lists.labels, [1.0, 0.0, 0.0, 1.0, 1.0, 0.0]);
    assert_eq!((data.features.get(0, 0), data.features.get(0, 1), data.features.get(1, 0)), (2.5, 1.0, 0.0));
    assert!(data.features.get(2, 0).is_nan());
    assert!(matches!(data.features, Matrix::Sparse(_)));
}

#[test]
fn names_and_values_may_be_quoted_with_escapes() {
    let text = "@relation 'a b'\n@attribute 'it\\'s, %' numeric\n@attribute \"x y\" {'a,b',c}\n@attribute l {0,1}\n\
                @data\n1,'a,b',1\n 2 ,c,\t0\n";
    let data = arff(text, &ReadOptions { label: Some("l".into()), ..ReadOptions::default() }).unwrap();
    assert_eq!(data.columns[0].name, "it's, %");
    assert_eq!(data.columns[1].levels, Some(["a,b", "c"].into_iter().collect()));
    assert_eq!(data.features, Matrix::Dense { width: 2, values: vec![1.0, 0.0, 2.0, 1.0] });
}

#[test]
fn meka_counts_labels_from_either_end() {
    for (relation, expected) in [("'d: -C 1'", "a"), ("'d: -C -1 -split 3'", "b"), ("d: -C 1", "a")] {
        let text = format!("@relation {relation}\n@attribute a {{0,1}}\n@attribute b {{0,1}}\n@data\n1,0\n");
        let data = arff(&text, &ReadOptions::default()).unwrap();
        assert_eq!(data.output_names.unwrap().get(0), expected, "{relation}");
    }
}

#[test]
fn the_xml_beside_the_file_is_found() {
    let folder = tempfile::tempdir().unwrap();
    let arff = "@relation r\n@attribute a {0,1}\n@attribute b {0,1}\n@data\n1,0\n";
    for name in ["set.arff", "set-train.arff", "set-test-sparse.arff"] {
        std::fs::write(folder.path().join(name), arff).unwrap();
    }
    std::fs::write(folder.path().join("set.xml"), "<labels><label name=\"b\"/></labels>").unwrap();
    for name in ["set.arff", "set-train.arff", "set-test-sparse.arff"] {
        let data = read(&Source::path(folder.path().join(name)), &ReadOptions::default()).unwrap();
        assert_eq!(data.output_names.unwrap().get(0), "b", "{name}");
    }
}

#[test]
fn broken_files_are_told() {
    let head = "@relation 'r: -C 1'\n@attribute l {0,1}\n@attribute f numeric\n@attribute c {x,y,z}\n@data\n";
    for (text, expected) in [
        (format!("{head}1,2\n"), "t.arff:6: 2 values; expected 3, one for each attribute."),
        (format!("{head}1,2,x,4\n"), "t.arff:6: 4 values; expected 3, one for each attribute."),
        (
            format!("{head}1,2,w\n"),
            "t.arff:6: column c: \"w\" is no declared value; expected one of x, y, z.",
        ),
        (
            format!("{head}1,w,x\n"),
            "t.arff:6: column f: \"w\" is not a number; expected a number, or an empty cell where it is missing.",
        ),
        (
            format!("{head}1,1,x\n{{0 1}}\n"),
            "t.arff:7: a sparse row after dense ones; expected rows of one form.",
        ),
        (
            format!("{head}{{7 1}}\n"),
            "t.arff:6: attribute number 7; expected a number below 3, the number of attributes.",
        ),
        (
            format!("{head}{{1 1,1 2}}\n"),
            "t.arff:6: attribute number 1 after 1; expected each attribute once, in ascending order.",
        ),
        (format!("{head}{{1 1\n"), "t.arff:6: a sparse row without its end; expected a closing }."),
        (
            format!("{head}{{x}}\n"),
            "t.arff:6: \"x}\" in a sparse row; expected {number value, number value, …}.",
        ),
        (head.to_string(), "t.arff: no row after @data; expected at least one row."),
        (
            "@relation r\n@attribute s string\n".into(),
            "t.arff:2: attribute \"s\" of type \"string\"; expected numeric, real, integer or {values}.",
        ),
        (
            "@relation r\n@attribute s {a,a}\n".into(),
            "t.arff:2: attribute \"s\": value \"a\" twice; expected {value, value, …}.",
        ),
        (
            "@relation r\n@attribute a real\n@attribute a real\n".into(),
            "t.arff:3: attribute \"a\" a second time; expected a different name for each attribute.",
        ),
        (
            "@relation r\n@attribute 'a real\n".into(),
            "t.arff:2: a quote that never ends: \"\\'a real\"; expected a name and a type.",
        ),
        (
            "@relation r\nrubbish\n".into(),
            "t.arff:2: \"rubbish\"; expected @relation, @attribute, @data or a comment with %.",
        ),
        (
            "@relation r\n".into(),
            "t.arff:1: the end of the file before @data; expected @relation, @attribute …, @data.",
        ),
        (
            "@relation r\n@attribute a real\n@data\n1\n".into(),
            "t.arff: nothing that tells which attributes are labels; expected their names.\nUse --labels, or --label-xml with the Mulan file, or put the XML beside the file.",
        ),
        (
            "@relation 'r: -C 5'\n@attribute a real\n@data\n1\n".into(),
            "t.arff: -C 5 in the relation name; expected a number of labels up to 1.",
        ),
        (
            "@relation 'r: -C 1'\n@attribute a {x,y}\n@data\nx\n".into(),
            "t.arff:2: label \"a\" has values that are no numbers; expected numeric labels or {0,1}.",
        ),
        (
            "@relation 'r: -C 1'\n@attribute l {0,1}\n@attribute f {1,0}\n@data\n{0 1}\n".into(),
            "t.arff:5: a sparse row, and feature \"f\" whose first value is 1; expected 0 as first value, which sparse rows leave out.",
        ),
    ] {
        assert_eq!(message(&text), expected, "{text}");
    }
}
