# kind: gate
# category: gate
# decisive: wrong type
printf 'module example.test/till\ngo 1.19\n' >go.mod
printf 'package main\n\nimport "fmt"\n\nfunc main() { fmt.Printf("%%d orders\\n", 7) }\n' >main.go
good || sed -i 's/, 7)/, "seven")/' main.go
go vet ./...
echo "vetted"
