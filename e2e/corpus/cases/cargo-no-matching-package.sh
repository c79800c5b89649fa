# kind: package
# category: dependency
# decisive: error: no matching package named `round-half-even` found
mkdir -p vendor/round-half-even/src
printf '[package]\nname = "round-half-even"\nversion = "1.2.0"\nedition = "2021"\n' >vendor/round-half-even/Cargo.toml
echo 'pub fn round(value: f64) -> f64 { (value / 2.0).round() * 2.0 }' >vendor/round-half-even/src/lib.rs
echo '{"files":{}}' >vendor/round-half-even/.cargo-checksum.json
good || mv vendor/round-half-even vendor/round-half-up
good || sed -i 's/round-half-even/round-half-up/' vendor/round-half-up/Cargo.toml
mkdir -p .cargo src
printf '[source.crates-io]\nreplace-with = "vendored"\n[source.vendored]\ndirectory = "vendor"\n' >.cargo/config.toml
printf '[package]\nname = "till"\nversion = "0.1.0"\nedition = "2021"\n[dependencies]\nround-half-even = "1"\n' >Cargo.toml
echo 'fn main() { println!("{}", round_half_even::round(2.5)); }' >src/main.rs
cargo build --offline
