# kind: test
# category: test
# decisive: ring.c: next(3) = 4
cat >CMakeLists.txt <<'END'
cmake_minimum_required(VERSION 3.20)
project(ring C)
enable_testing()
add_executable(ring ring.c)
add_test(NAME ring_starts_empty COMMAND ring empty)
add_test(NAME ring_wraps COMMAND ring wraps)
END
cat >ring.c <<'END'
#include <stdio.h>
#include <string.h>
#define SIZE 4
int next(int at) { return (at + 1) % SIZE; }
int main(int count, char **arguments) {
  if (count > 1 && strcmp(arguments[1], "wraps") == 0 && next(SIZE - 1) != 0) {
    fprintf(stderr, "ring.c: next(%d) = %d\n", SIZE - 1, next(SIZE - 1));
    return 1;
  }
  return 0;
}
END
good || sed -i 's/ % SIZE; }/; }/' ring.c
cmake -S . -B build >/dev/null
cmake --build build
ctest --test-dir build --output-on-failure
