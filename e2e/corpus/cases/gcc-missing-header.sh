# kind: compiler
# category: compile
# decisive: fatal error: orders/rates.h: No such file or directory
mkdir -p include/orders src
good && echo '#define RATE 7' >include/orders/rates.h
printf '#include "orders/rates.h"\nint rate(void) { return RATE; }\n' >src/rates.c
printf 'int rate(void);\nint main(void) { return rate() != 7; }\n' >src/main.c
for file in src/main.c src/rates.c; do
  echo "CC $file"
  gcc -Iinclude -O2 -c "$file" -o "${file%.c}.o"
done
gcc -o rates src/main.o src/rates.o
./rates
