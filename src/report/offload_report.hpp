#pragma once

#include <string>

#include "report/gnuplot.hpp"
#include "solve/offload.hpp"

namespace wallheat {

/// For people: from how many operations a value on a transfer to a GPU pays.
void print_offload(const Offload& offload);
/// One JSON object.
[[nodiscard]] std::string to_json_text(const Offload& offload);
/// Time over operations for a double, by the CPU and by the GPU with the transfer one way and both
/// ways, both axes logarithmic; the crossings are marked.
[[nodiscard]] Plot offload_plot(const Offload& offload);

}  // namespace wallheat
