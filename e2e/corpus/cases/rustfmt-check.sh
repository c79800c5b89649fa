# kind: gate
# category: gate
# decisive: Diff in
mkdir -p src
printf 'pub fn limit(count: u32) -> bool {\n    count <= 20\n}\n' >src/lib.rs
good || printf 'pub fn limit( count:u32 )->bool {\n  count<=20\n}\n' >src/lib.rs
rustfmt --edition 2021 --check src/lib.rs
echo "formatted"
