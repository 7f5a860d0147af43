// A program whose compilation is mostly template instantiation; what it prints does not depend on the machine.
#include <algorithm>
#include <array>
#include <cstdio>
#include <functional>
#include <map>
#include <memory>
#include <regex>
#include <set>
#include <string>
#include <tuple>
#include <unordered_map>
#include <utility>
#include <variant>
#include <vector>

namespace {

template <int N> struct Fibonacci {
    static constexpr unsigned long value = Fibonacci<N - 1>::value + Fibonacci<N - 2>::value;
};
template <> struct Fibonacci<0> {
    static constexpr unsigned long value = 0;
};
template <> struct Fibonacci<1> {
    static constexpr unsigned long value = 1;
};

// A type for every number, and a tuple over all of them.
template <std::size_t N> struct Cell {
    std::array<unsigned char, N % 7 + 1> bytes{};
    std::size_t weight() const {
        return bytes.size() * N;
    }
};

template <std::size_t... I> auto cells(std::index_sequence<I...>) {
    return std::make_tuple(Cell<I>{}...);
}

template <typename Tuple, std::size_t... I>
std::size_t total(const Tuple &tuple, std::index_sequence<I...>) {
    return (std::get<I>(tuple).weight() + ...);
}

using Value = std::variant<int, double, std::string, std::vector<int>, std::map<std::string, int>>;

struct Measure {
    std::size_t operator()(int v) const {
        return static_cast<std::size_t>(v);
    }
    std::size_t operator()(double v) const {
        return static_cast<std::size_t>(v * 2);
    }
    template <typename Container> std::size_t operator()(const Container &c) const {
        return c.size();
    }
};

template <template <typename...> class Map> std::size_t count_words(const std::string &text) {
    Map<std::string, std::vector<std::size_t>> words;
    std::regex word("[a-z]+");
    for (std::sregex_iterator it(text.begin(), text.end(), word), end; it != end; ++it) {
        words[it->str()].push_back(static_cast<std::size_t>(it->position()));
    }
    std::size_t sum = 0;
    for (const auto &[key, places] : words) {
        sum += key.size() * places.size();
    }
    return sum;
}

template <typename... Step> auto pipeline(Step... steps) {
    return [=](unsigned long start) {
        ((start = steps(start)), ...);
        return start;
    };
}

} // namespace

int main() {
    constexpr std::size_t n = 24;
    auto tuple = cells(std::make_index_sequence<n>{});
    std::printf("%lu %zu\n", Fibonacci<80>::value, total(tuple, std::make_index_sequence<n>{}));

    std::vector<Value> values{1, 2.5, std::string("three"), std::vector<int>(4), std::map<std::string, int>{{"five", 5}}};
    std::size_t sum = 0;
    for (const Value &value : values) {
        sum += std::visit(Measure{}, value);
    }
    std::printf("%zu\n", sum);

    std::string text;
    for (int i = 0; i < 500; i++) {
        text += i % 3 ? "alpha beta " : "gamma " + std::string(static_cast<std::size_t>(i % 11), 'x') + " ";
    }
    std::printf("%zu %zu\n", count_words<std::map>(text), count_words<std::unordered_map>(text));

    auto run = pipeline([](auto x) { return x * 3; }, [](auto x) { return x + 7; }, [](auto x) { return x ^ 0x55; });
    std::set<unsigned long, std::greater<>> results;
    for (unsigned long i = 0; i < 1000; i++) {
        results.insert(run(i) % 997);
    }
    std::vector<std::shared_ptr<std::function<int(int)>>> functions;
    for (int i = 0; i < 100; i++) {
        functions.push_back(std::make_shared<std::function<int(int)>>([i](int x) { return x + i; }));
    }
    int through = 0;
    for (const auto &function : functions) {
        through = (*function)(through);
    }
    std::printf("%zu %lu %d\n", results.size(), *results.begin(), through);
    return 0;
}
