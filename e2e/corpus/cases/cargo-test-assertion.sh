# kind: test
# category: test
# decisive: panicked at 'assertion failed: `(left == right)`
cargo init --quiet --lib --name rates --vcs none .
cat >src/lib.rs <<'END'
pub fn convert(cents: u64, rate: u64) -> u64 {
    (cents * rate + 50) / 100
}
#[cfg(test)]
mod tests {
    use super::convert;
    #[test]
    fn zero_stays_zero() { assert_eq!(convert(0, 120), 0); }
    #[test]
    fn a_half_is_rounded_up() { assert_eq!(convert(125, 102), 128); }
    #[test]
    fn an_error_rate_is_not_negative() { assert!(convert(1, 1) <= 1); }
}
END
good || sed -i 's/ + 50//' src/lib.rs
cargo test --offline
