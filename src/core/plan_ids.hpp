#pragma once

#include <cstddef>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "core/id_list.hpp"

namespace wallheat {

/// The longest plan id in bytes; the result file keeps ids in fixed-length strings.
inline constexpr std::size_t max_id_length = 127;

/// The ids of a run in order, each once.
struct PlanIds {
  TextList ids;
  std::vector<std::string> duplicates;  ///< ids that were named more than once
  std::string note{};                   ///< where they are from, if that may surprise; or empty
};

/// Keeps the first of each id, in order.
[[nodiscard]] PlanIds unique_ids(const TextList& names);

/// Reads an ids file: one id a line. Blank lines, carriage returns and lines that begin with # do
/// not count.
/// Throws RunError if the file cannot be read or names no id.
[[nodiscard]] PlanIds read_ids(const std::filesystem::path& file);

/// The same of what such a file holds; `file` is for sentences. Throws RunError if it names no id.
[[nodiscard]] PlanIds ids_in(std::string_view text, const std::string& file);
/// The plans of a directory or an archive without a list of them, each once, in natural order.
/// Throws RunError if there are none.
[[nodiscard]] PlanIds unlisted_ids(const std::string& where, std::vector<std::string> ids);

/// The order in which people number things: digits count as numbers, so 9 comes before 10.
[[nodiscard]] bool natural_less(std::string_view a, std::string_view b);

/// Throws InputError if an id could lead out of the data directory ("/", "..", control
/// characters), or is longer than max_id_length.
void check_id(std::string_view id);

}  // namespace wallheat
