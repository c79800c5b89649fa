# kind: package
# category: dependency
# decisive: needs to be updated but --locked was passed
mkdir -p src rates/src
printf '[package]\nname = "rates"\nversion = "0.2.0"\nedition = "2021"\n' >rates/Cargo.toml
touch rates/src/lib.rs
printf '[package]\nname = "till"\nversion = "0.1.0"\nedition = "2021"\n[dependencies]\nrates = { path = "rates" }\n' >Cargo.toml
echo 'fn main() {}' >src/main.rs
cargo generate-lockfile --offline
good || sed -i 's/0\.2\.0/0.3.0/' rates/Cargo.toml
cargo build --offline --locked
