# kind: gate
# category: gate
# decisive: error: this comparison involving the minimum or maximum element
cargo init --quiet --lib --name stock --vcs none .
printf 'pub fn is_empty(count: u32) -> bool {\n    count == 0\n}\n' >src/lib.rs
good || sed -i 's/count == 0/count < 1 \&\& count <= 0/' src/lib.rs
cargo clippy --offline -- -D warnings -D clippy::all
