# kind: compiler
# category: compile
# decisive: error: ‘totl’ undeclared
cat >orders.c <<'END'
#include <stdio.h>
int sum(const int *amounts, int count) {
  int total = 0;
  for (int i = 0; i < count; i++) total += amounts[i];
  return total;
}
END
good || sed -i 's/return total/return totl/' orders.c
cat >main.c <<'END'
#include <stdio.h>
int sum(const int *amounts, int count);
int main(void) { int a[] = {1, 2, 3}; printf("%d\n", sum(a, 3)); return 0; }
END
cat >Makefile <<'END'
orders: main.o orders.o
	$(CC) -o $@ $^
%.o: %.c
	$(CC) -Wall -c -o $@ $<
END
make orders
./orders
