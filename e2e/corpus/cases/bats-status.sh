# kind: test
# category: test
# decisive: `[ "$status" -eq 0 ]' failed
cat >backup <<'END'
#!/bin/sh
test -d "$1" || { echo "no such folder: $1" >&2; exit 2; }
tar -cf - -C "$1" . | wc -c
END
chmod +x backup
cat >backup.bats <<'END'
@test "a missing folder is an error" {
  run ./backup nowhere
  [ "$status" -eq 2 ]
}
@test "a folder is archived" {
  run ./backup data
  [ "$status" -eq 0 ]
}
END
good && mkdir data
bats --tap backup.bats
