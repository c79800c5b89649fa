//! Manifests that need more memory or time than their size suggests, or that would give the step more than it may have.

use crate::repository::{MANIFEST, Repository};
use crate::{HostileRegistry, Served};

fn manifest(
    name: &'static str,
    reason: &'static str,
    make: impl Fn() -> Vec<u8> + Clone + Send + Sync + 'static,
) -> HostileRegistry {
    HostileRegistry::new(name, reason, move || {
        let make = make.clone();
        async move {
            let repository = Repository::with_step();
            let file = repository.blob(&make());
            let tree = repository.tree(&format!("100644 blob {file}\tstep.yaml\n"));
            repository.publish_tree(&tree, "roll-out/v9.0.0");
            Served::repository(repository).await
        }
    })
}

/// The valid manifest with more lines.
fn with(lines: &'static str) -> impl Fn() -> Vec<u8> + Clone + Send + Sync {
    move || format!("{MANIFEST}{lines}\n").into_bytes()
}

/// A thousand million texts in nine lines.
fn alias_bomb() -> Vec<u8> {
    let mut bomb = "x0: &x0 [a, a, a, a, a, a, a, a, a, a]\n".to_owned();
    for level in 1..9 {
        let list = vec![format!("*x{}", level - 1); 10].join(", ");
        bomb += &format!("x{level}: &x{level} [{list}]\n");
    }
    (MANIFEST.to_owned() + &bomb).into_bytes()
}

fn deep() -> Vec<u8> {
    format!("{MANIFEST}description: {}{}\n", "[".repeat(5_000), "]".repeat(5_000)).into_bytes()
}

fn large() -> Vec<u8> {
    format!("{MANIFEST}description: {}\n", "a".repeat(7 << 20)).into_bytes()
}

pub fn all() -> Vec<HostileRegistry> {
    let image_by_tag = || b"name: roll-out\nimage: docker.io/library/alpine:latest\nrun: ./run\n".to_vec();
    let pattern_bomb = "inputs: { x: { type: string, pattern: '(a{1000}){1000}' } }";
    vec![
        manifest("alias-bomb", "step.yaml", alias_bomb),
        manifest("deep-manifest", "nests deeper", deep),
        manifest("large-manifest", "step.yaml", large),
        manifest("pattern-bomb", "too much memory", with(pattern_bomb)),
        manifest("image-by-tag", "by digest", image_by_tag),
        manifest("loader-variable", "dynamic loader", with("secrets: { LD_PRELOAD: {} }")),
        manifest("nested-steps", "unknown field", with("steps: [{ uses: other/step@v1 }]")),
        manifest("other-name", "published by a tag of", || {
            MANIFEST.replace("roll-out", "other").into_bytes()
        }),
        manifest("not-text", "not UTF-8", || vec![0xff; 64]),
    ]
}
