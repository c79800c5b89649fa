# kind: package
# category: dependency
# decisive: Could not find a package configuration file provided by "Ledger"
mkdir -p prefix/lib/cmake/Ledger
good && echo 'set(Ledger_VERSION 1.0)' >prefix/lib/cmake/Ledger/LedgerConfig.cmake
cat >CMakeLists.txt <<'END'
cmake_minimum_required(VERSION 3.20)
project(books C)
find_package(Ledger REQUIRED CONFIG)
message(STATUS "Ledger found in ${Ledger_DIR}")
END
cmake -B build -DCMAKE_PREFIX_PATH="$PWD/prefix"
