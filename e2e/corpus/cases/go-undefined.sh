# kind: compiler
# category: compile
# decisive: undefined: retryLimit
cat >go.mod <<'END'
module example.test/courier
go 1.19
END
cat >courier.go <<'END'
package main

import "fmt"

const retryLimit = 3

func main() {
	for attempt := 1; attempt <= retryLimit; attempt++ {
		fmt.Println("attempt", attempt)
	}
}
END
good || sed -i '/^const retryLimit/d' courier.go
go version
go build -o courier .
./courier
