// tree [SCALE]
//
// Stands for C++ programs made of small nodes: binary trees built and torn down by recursion, a map from numbers
// to strings too long for the string itself, and a hash table of vectors; everything through new and delete.
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>
#include "finish.h"

namespace {

std::uint64_t state = 1;

std::uint64_t rnd(std::uint64_t limit) {
    state = state * 6364136223846793005u + 1442695040888963407u;
    return (state >> 33) % limit;
}

struct Node {
    std::unique_ptr<Node> left, right;
    std::uint64_t value;
};

std::unique_ptr<Node> build(int depth) {
    auto node = std::make_unique<Node>();
    node->value = rnd(1000);
    if (depth > 0) {
        node->left = build(depth - 1);
        node->right = build(depth - 1);
    }
    return node;
}

std::uint64_t sum(const Node *node) {
    return node ? node->value + 3 * sum(node->left.get()) + 5 * sum(node->right.get()) : 0;
}

std::uint64_t maps() {
    std::map<std::uint64_t, std::string> ordered;
    std::unordered_map<std::string, std::vector<std::uint64_t>> places;
    for (std::uint64_t i = 0; i < 100000; i++) {
        std::uint64_t key = rnd(60000);
        if (i % 5 == 4) {
            ordered.erase(key);
        } else {
            ordered[key] = "a string that is longer than what fits into the object itself " + std::to_string(key);
        }
        places["key number " + std::to_string(key % 9000)].push_back(i);
    }
    std::uint64_t total = ordered.size();
    for (const auto &[key, text] : ordered) {
        total = total * 31 + key + text.size();
    }
    for (const auto &[name, list] : places) {
        total += list.size() * name.size();
    }
    return total;
}

std::uint64_t work(double factor) {
    std::uint64_t total = 0;
    auto kept = build(18);
    for (int round = 0; round < 16 * factor || round == 0; round++) {
        total = total * 31 + sum(build(16).get());
        total = total * 31 + maps();
    }
    return total + sum(kept.get());
}

} // namespace

int main(int argc, char **argv) {
    double factor = argc > 1 ? std::atof(argv[1]) : 1.0;
    if (factor <= 0) {
        std::fprintf(stderr, "usage: tree [SCALE]\n");
        return 2;
    }
    return finish(work(factor));
}
