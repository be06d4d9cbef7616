#pragma once

#include <string>
#include <vector>

#include "bench/solver_bench.hpp"

namespace wallheat {

[[nodiscard]] std::string to_json_text(const std::vector<SolverComparison>& comparisons,
                                       const std::string& device);
/// Prints a table to stdout.
void print_table_of(const std::vector<SolverComparison>& comparisons, const std::string& device);

}  // namespace wallheat
