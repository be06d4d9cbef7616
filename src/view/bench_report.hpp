#pragma once

#include <string>

#include "bench/cpu_bench.hpp"
#include "bench/gpu_bench.hpp"

namespace wallheat {

[[nodiscard]] std::string to_json_text(const CpuBench& bench);
[[nodiscard]] std::string to_json_text(const GpuBench& bench);
/// Prints tables to stdout. Those of a GPU are in bench/gpu_bench.hpp, as a build without this
/// folder prints them, too.
void print_tables(const CpuBench& bench);

}  // namespace wallheat
