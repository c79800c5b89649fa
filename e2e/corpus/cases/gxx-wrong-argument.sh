# kind: compiler
# category: compile
# decisive: error: invalid initialization of reference of type
cat >basket.cpp <<'END'
#include <iostream>
#include <map>
#include <string>
#include <vector>
struct Item { std::string name; int cents; };
int total(const std::vector<Item> &items) {
  int sum = 0;
  for (const auto &item : items) sum += item.cents;
  return sum;
}
int main() {
  std::vector<Item> items{{"tea", 350}, {"cup", 990}};
  std::map<std::string, int> prices;
  for (const auto &item : items) prices.emplace(item.name, item.cents);
  std::cout << total(items) << std::endl;
}
END
good || sed -i 's/<< total(items)/<< total(prices)/' basket.cpp
g++ -std=c++17 -Wall -o basket basket.cpp
./basket
