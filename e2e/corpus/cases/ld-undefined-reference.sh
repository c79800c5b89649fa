# kind: linker
# category: compile
# decisive: undefined reference to `checksum'
echo 'unsigned checksum(const char *text) { unsigned sum = 0; while (*text) sum = sum * 31 + *text++; return sum; }' >checksum.c
printf 'unsigned checksum(const char *text);\nint main(void) { return checksum("tea") == 0; }\n' >main.c
printf 'int version(void) { return 3; }\n' >version.c
for file in main checksum version; do
  echo "  CC      $file.o"
  gcc -c "$file.c"
done
objects="main.o version.o"
good && objects="$objects checksum.o"
echo "  LD      app"
# shellcheck disable=SC2086
gcc -o app $objects
./app && echo "checksum ok"
