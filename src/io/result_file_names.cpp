#include "io/result_file_names.hpp"

#include <array>
#include <cstdint>
#include <cstdio>
#include <random>
#include <string_view>

#include "io/files.hpp"

namespace wallheat {
namespace fs = std::filesystem;
namespace {

constexpr std::string_view journal_ending = ".wal";
constexpr std::string_view fenced_ending = ".fold";
constexpr std::string_view temporary_ending = ".new-";
constexpr std::size_t random_digits = 16;

/// Returns the part of a file name that follows the name of `file` and `ending`.
std::optional<std::string_view> part_after(std::string_view name, const fs::path& file,
                                           std::string_view ending) {
  const std::string prefix = file.filename().string() + std::string(ending);
  if (!name.starts_with(prefix)) return std::nullopt;
  return name.substr(prefix.size());
}

bool consists_of(std::string_view text, const char* characters) {
  return text.find_first_not_of(characters) == std::string_view::npos;
}

}  // namespace

fs::path journal_path(fs::path file, std::size_t number) {
  return file += std::string(journal_ending) + std::to_string(number);
}

fs::path fenced_path(fs::path journal) { return journal += fenced_ending; }
bool is_fenced(const fs::path& journal) { return journal.native().ends_with(fenced_ending); }

std::optional<std::size_t> journal_number(const std::string& name, const fs::path& file) {
  auto digits = part_after(name, file, journal_ending);
  if (!digits) return std::nullopt;
  if (digits->ends_with(fenced_ending)) digits->remove_suffix(fenced_ending.size());
  if (digits->empty() || digits->size() >= 10 || !consists_of(*digits, "0123456789"))
    return std::nullopt;
  return std::stoul(std::string(*digits));
}

bool may_be_journal(const std::string& name, const fs::path& file) {
  return part_after(name, file, journal_ending).has_value();
}

fs::path lock_path(fs::path file) { return file += ".lock"; }
fs::path status_path(fs::path file) { return file += ".status"; }

fs::path new_temporary_path(fs::path file) {
  std::random_device random;
  const std::uint64_t high = random();
  std::array<char, random_digits + 1> digits{};
  std::snprintf(digits.data(), digits.size(), "%016llx",
                static_cast<unsigned long long>(high << 32 | random()));
  return file += std::string(temporary_ending) + digits.data();
}

bool is_temporary_name(const std::string& name, const fs::path& file) {
  const auto digits = part_after(name, file, temporary_ending);
  return digits && digits->size() == random_digits && consists_of(*digits, "0123456789abcdef");
}

bool remove_temporary_files(const fs::path& file) {
  bool has_removed = false;
  for (const std::string& name : names_in(file.parent_path())) {
    const fs::path path = file.parent_path() / name;
    std::error_code vanished;
    if (is_temporary_name(name, file) && fs::is_regular_file(path, vanished))
      has_removed = remove_file(path) || has_removed;
  }
  return has_removed;
}

}  // namespace wallheat
