# kind: linker
# category: compile
# decisive: cannot find -lledger
mkdir -p lib
echo 'int entries(void) { return 4; }' >ledger.c
gcc -c ledger.c
good && ar rcs lib/libledger.a ledger.o
printf 'int entries(void);\nint main(void) { return entries() != 4; }\n' >main.c
echo "linking books"
gcc main.c -Llib -lledger -o books
./books && echo linked
