#!/usr/bin/env bash
# The C++ compiler on a source that is mostly the standard library's templates.
. "$(dirname -- "$0")/../../tests/programs/program.sh"
needs=(g++)

prepare() {
  cat >templates.cpp <<'SOURCE'
#include <functional>
#include <iostream>
#include <map>
#include <string>
#include <unordered_map>
#include <variant>
#include <vector>

using Value = std::variant<int, double, std::string, std::vector<int>>;
template <int N> struct Table {
    std::map<std::string, std::unordered_map<int, Value>> rows;
    Table<N - 1> next;
    void put(const std::string &key, int column, Value value) {
        rows[key][column] = std::move(value);
        next.put(key, column + N, rows[key][column]);
    }
};
template <> struct Table<0> {
    void put(const std::string &, int, Value) {}
};

int main(int argc, char **argv) {
    Table<4> table;
    std::function<bool(const std::string &)> matches = [](const std::string &text) {
        return text.find('=') != std::string::npos;
    };
    for (int i = 1; i < argc; i++)
        if (matches(argv[i]))
            table.put(argv[i], i, std::string(argv[i]));
    std::cout << table.rows.size() << '\n';
}
SOURCE
}

job() {
  g++ -std=c++17 -O0 -S "$input/templates.cpp" -o out.s
  cksum <out.s
  rm -f out.s
}

program "$@"
