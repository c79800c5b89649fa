//! Checks the manifests of the example steps in `steps/` with the parser that registries are read with.

use std::path::Path;

use greenroom_domain::step::StepManifest;

const IMAGE: &str =
    "image: images.invalid/x@sha256:0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef";

#[test]
fn the_manifests_of_example_steps_are_valid() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../steps");
    let mut names = Vec::new();
    for entry in std::fs::read_dir(folder).unwrap() {
        let (name, path) = entry.map(|entry| (entry.file_name(), entry.path())).unwrap();
        let (name, path) = (name.into_string().unwrap(), path.join("step.yaml"));
        if !path.exists() {
            continue;
        }
        let text = std::fs::read_to_string(&path).unwrap();
        assert!(text.contains("\nimage: IMAGE\n"), "{name}: the digest is written when it is published");
        let manifest = StepManifest::parse(&text.replace("image: IMAGE", IMAGE), Some(&name));
        let manifest = manifest.unwrap_or_else(|problems| panic!("{name}: {problems:?}"));
        assert!(manifest.description.is_some(), "{name}");
        names.push(name);
    }
    names.sort();
    assert_eq!(names, ["http-check", "kubernetes-apply", "oci-image", "shell"]);
}
