#include "store/result_file_names.hpp"

#include <string_view>

namespace wallheat {
namespace fs = std::filesystem;
namespace {

constexpr std::string_view journal_ending = ".wal";
constexpr std::string_view fenced_ending = ".fold";

/// Returns the part of the name of a journal of `file` that follows its ending.
std::optional<std::string_view> part_after_ending(std::string_view name, const fs::path& file) {
  const std::string prefix = file.filename().string() + std::string(journal_ending);
  if (!name.starts_with(prefix)) return std::nullopt;
  return name.substr(prefix.size());
}

}  // namespace

fs::path journal_path(fs::path file, std::size_t number) {
  return file += std::string(journal_ending) + std::to_string(number);
}

fs::path fenced_path(fs::path journal) { return journal += fenced_ending; }
bool is_fenced(const fs::path& journal) { return journal.native().ends_with(fenced_ending); }

std::optional<std::size_t> journal_number(const std::string& name, const fs::path& file) {
  auto digits = part_after_ending(name, file);
  if (!digits) return std::nullopt;
  if (digits->ends_with(fenced_ending)) digits->remove_suffix(fenced_ending.size());
  if (digits->empty() || digits->size() >= 10 ||
      digits->find_first_not_of("0123456789") != std::string_view::npos)
    return std::nullopt;
  return std::stoul(std::string(*digits));
}

bool may_be_journal(const std::string& name, const fs::path& file) {
  return part_after_ending(name, file).has_value();
}

fs::path lock_path(fs::path file) { return file += ".lock"; }
fs::path status_path(fs::path file) { return file += ".status"; }

}  // namespace wallheat
