//! Embeds the files that `cargo xtask ui build` has written below `dashboard/dist`: generates a Rust array from
//! `files.tsv`. It compresses and hashes nothing. The array is empty if the dashboard was not built, or if a file that
//! the table names is missing because a later build was interrupted.

use std::error::Error;
use std::io::ErrorKind;
use std::path::Path;
use std::{env, fs};

const DIST: &str = "../../dashboard/dist";
const TABLE: &str = "embedded/files.tsv";

fn main() -> Result<(), Box<dyn Error>> {
    let dist = Path::new(&env::var("CARGO_MANIFEST_DIR")?).join(DIST);
    // The folder around the files is always there: Cargo would run this script at every build if it were not. The path is
    // absolute, because what this writes is wrong for another checkout with the same target folder.
    println!("cargo::rerun-if-changed={}", dist.display());
    let files = match fs::read_to_string(dist.join(TABLE)) {
        Ok(table) => table.lines().map(|row| generate(&dist, row)).collect::<Result<Option<String>, _>>()?,
        Err(error) if error.kind() == ErrorKind::NotFound => None,
        Err(error) => return Err(error.into()),
    };
    if files.is_none() {
        println!(
            "cargo::warning=the dashboard is missing in this build: run `cargo xtask ui build`, then build again"
        );
    }
    let array = format!("&[\n{}]", files.unwrap_or_default());
    fs::write(Path::new(&env::var("OUT_DIR")?).join("files.rs"), array)?;
    Ok(())
}

/// Returns the array's element for a row of the table, an expression of the type `File`. `None` if a file is missing.
fn generate(dist: &Path, row: &str) -> Result<Option<String>, Box<dyn Error>> {
    let [path, content_type, hash, encodings] = row.split('\t').collect::<Vec<_>>()[..] else {
        return Err(format!("a row of {TABLE} has other columns than expected: {row}").into());
    };
    let plain = dist.join(format!("site{path}"));
    let [brotli, gzip] = [".br", ".gz"].map(|suffix| dist.join(format!("embedded{path}{suffix}")));
    let is_compressed = encodings == "compressed";
    if !plain.is_file() || (is_compressed && !(brotli.is_file() && gzip.is_file())) {
        return Ok(None);
    }
    let compressed = if is_compressed {
        format!(
            "Some(crate::file::Compressed {{ brotli: include_bytes!({brotli:?}), gzip: include_bytes!({gzip:?}) }})"
        )
    } else {
        "None".to_owned()
    };
    let etag = format!("W/\"{hash}\"");
    Ok(Some(format!(
        "File {{ path: {path:?}, content_type: {content_type:?}, etag: {etag:?}, plain: include_bytes!({plain:?}), \
         compressed: {compressed} }},\n"
    )))
}
