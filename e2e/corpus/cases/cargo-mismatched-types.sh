# kind: compiler
# category: compile
# decisive: error[E0308]: mismatched types
cargo init --quiet --name billing --vcs none .
mkdir -p src
cat >src/tax.rs <<'END'
pub fn tax(cents: u64) -> u64 {
    cents * 19 / 100
}
END
cat >src/main.rs <<'END'
mod tax;
fn unused_rounding(cents: u64) -> u64 { cents / 10 * 10 }
fn main() {
    println!("{}", tax::tax(1_000));
}
END
good || sed -i 's/tax::tax(1_000)/tax::tax("1000")/' src/main.rs
cargo build --offline
