# kind: linker
# category: compile
# decisive: multiple definition of `limit'
printf 'int limit = 10;\nint first(void) { return limit; }\n' >first.c
printf 'extern int limit;\nint second(void) { return limit; }\n' >second.c
good || sed -i 's/^extern int limit;/int limit = 20;/' second.c
printf 'int first(void);\nint second(void);\nint main(void) { return first() + second() == 0; }\n' >main.c
cat >CMakeLists.txt <<'END'
cmake_minimum_required(VERSION 3.20)
project(limits C)
add_executable(limits main.c first.c second.c)
END
cmake -B build
cmake --build build
build/limits && echo "limits agree"
