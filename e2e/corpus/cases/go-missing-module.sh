# kind: package
# category: dependency
# decisive: cannot find module providing package example.test/rates
mkdir -p rates
printf 'module example.test/till\ngo 1.19\nrequire example.test/rates v0.0.0\nreplace example.test/rates => ./rates\n' >go.mod
good || printf 'module example.test/till\ngo 1.19\n' >go.mod
printf 'module example.test/rates\ngo 1.19\n' >rates/go.mod
printf 'package rates\n\nfunc Rate() int { return 7 }\n' >rates/rates.go
printf 'package main\n\nimport (\n\t"fmt"\n\n\t"example.test/rates"\n)\n\nfunc main() { fmt.Println(rates.Rate()) }\n' >main.go
go env GOPROXY
go build -o till .
./till
