//! What is installed: the version, and the content of the release archive.

mod common;

use common::Toprank;

#[test]
fn the_version_names_commit_and_features() {
    let shell = Toprank::new();
    let number = concat!("toprank ", env!("CARGO_PKG_VERSION"), "\n");
    assert_eq!(shell.ok("-V"), number);
    let text = shell.ok("--version");
    let mut lines = text.lines();
    assert_eq!(lines.next(), Some(number.trim_end()), "{text}");
    let commit = lines.next().and_then(|line| line.strip_prefix("commit: ")).expect("a commit");
    // Without git and outside a packaged crate nobody knows it.
    let is_commit = commit.len() >= 12 && commit.bytes().all(|byte| byte.is_ascii_hexdigit());
    assert!(is_commit || commit == "unknown", "{text}");
    let features = lines.next().and_then(|line| line.strip_prefix("features: ")).expect("features");
    for (name, is_there) in [
        ("neural", cfg!(feature = "neural")),
        ("parquet", cfg!(feature = "parquet")),
        ("plots", cfg!(feature = "plots")),
        ("serve", cfg!(feature = "serve")),
    ] {
        assert_eq!(features.split(", ").any(|feature| feature == name), is_there, "{text}");
    }
}

/// Packs a stand-in for the binary, which calls the real one: packing takes most of its time with the bytes of the binary.
#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
#[test]
fn the_release_archive_has_the_command_its_manual_completions_and_licences() {
    use std::os::unix::fs::PermissionsExt;

    let shell = Toprank::new();
    let program = env!("CARGO_BIN_EXE_toprank");
    shell.file("stand-in", &format!("#!/bin/sh\nexec '{program}' \"$@\"\n"));
    std::fs::set_permissions(shell.path("stand-in"), std::fs::Permissions::from_mode(0o755)).unwrap();
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/../../.ci/release");
    let out = shell.sh(&format!("'{script}' --binary stand-in --output out"));
    let (stdout, stderr) = (String::from_utf8_lossy(&out.stdout), String::from_utf8_lossy(&out.stderr));
    assert!(out.status.success(), "{stderr}");
    let name = concat!("toprank-", env!("CARGO_PKG_VERSION"), "-x86_64-unknown-linux-gnu");
    assert!(stdout.trim_end().ends_with(&format!("{name}.tar.gz")), "{stdout}");
    let out = shell.sh(&format!("mkdir prefix && tar -xzf out/{name}.tar.gz --strip-components=1 -C prefix"));
    assert!(out.status.success(), "{}", String::from_utf8_lossy(&out.stderr));
    for (file, content) in [
        ("bin/toprank", "exec "),
        ("share/man/man1/toprank.1", ".TH toprank 1"),
        ("share/man/man1/toprank-evaluate.1", "evaluate"),
        ("share/bash-completion/completions/toprank", "complete -F _toprank"),
        ("share/zsh/site-functions/_toprank", "#compdef toprank"),
        ("share/fish/vendor_completions.d/toprank.fish", "complete -c toprank"),
        ("share/doc/toprank/LICENSE-MIT", "Permission is hereby granted"),
        ("share/doc/toprank/LICENSE-APACHE", "Apache License"),
        ("share/doc/toprank/THIRD-PARTY.txt", "── clap "),
        ("share/doc/toprank/README.md", "# toprank"),
    ] {
        assert!(shell.read(&format!("prefix/{file}")).contains(content), "{file} lacks {content:?}");
    }
    let packed = shell.sh("prefix/bin/toprank -V");
    assert!(packed.status.success(), "the command is executable");
    let names = shell.sh(&format!("tar -tzf out/{name}.tar.gz"));
    let names = String::from_utf8_lossy(&names.stdout).into_owned();
    assert!(names.lines().all(|line| line.starts_with(name)), "{names}");
}
