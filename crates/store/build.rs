//! Migrations are compiled in; without this a new file would not be noticed.

fn main() {
    // Cargo reads its instructions from standard output.
    let mut out = std::io::stdout();
    let _ = std::io::Write::write_all(&mut out, b"cargo:rerun-if-changed=migrations\n");
}
