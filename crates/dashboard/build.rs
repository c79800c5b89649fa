//! Embeds the files that `cargo xtask ui build` has written to `dashboard/dist/site`. Without them, which is
//! without Node, the crate compiles all the same.

use std::path::Path;

const FILES: &str = "../../dashboard/dist/site";

fn main() {
    println!("cargo::rustc-check-cfg=cfg(has_dashboard)");
    // The folder around the files is always there: Cargo would run this script at every build if it were not.
    println!("cargo::rerun-if-changed=../../dashboard/dist");
    if Path::new(FILES).join("index.html").exists() {
        println!("cargo::rustc-cfg=has_dashboard");
        memory_serve::load_directory_with_embed(FILES, true);
    } else {
        println!(
            "cargo::warning=the dashboard is missing in this build: run `cargo xtask ui build`, then build again"
        );
    }
}
