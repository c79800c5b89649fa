# kind: test
# category: test
# decisive: courier_test.go:
printf 'module example.test/courier\ngo 1.19\n' >go.mod
cat >courier.go <<'END'
package courier

func Parcels(items, size int) int { return (items + size - 1) / size }
END
good || sed -i 's/(items + size - 1)/(items + size)/' courier.go
cat >courier_test.go <<'END'
package courier

import "testing"

func TestNone(t *testing.T) {
	if got := Parcels(1, 4); got != 1 {
		t.Errorf("Parcels(1, 4) = %d, want 1", got)
	}
}

func TestFull(t *testing.T) {
	if got := Parcels(8, 4); got != 2 {
		t.Errorf("Parcels(8, 4) = %d, want 2", got)
	}
}
END
go test -v ./...
