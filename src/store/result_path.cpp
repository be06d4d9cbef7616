#include "store/result_path.hpp"

#include <algorithm>
#include <string>

#include "io/files.hpp"
#include "store/result_file_names.hpp"

namespace wallheat {
namespace fs = std::filesystem;

namespace {

constexpr int max_links = 40;  // the limit of the Linux kernel

fs::path followed(const fs::path& file) {
  auto path = fs::absolute(file);
  fs::path stray;  // a link that has journals next to it
  for (int links = 0; fs::is_symlink(fs::symlink_status(path)); ++links) {
    if (links == max_links)
      throw RunError(file.string() + " is a symbolic link to itself; choose another name");
    if (!journal_numbers(path).empty()) stray = path;
    path = path.parent_path() / fs::read_symlink(path);
  }
  path = fs::weakly_canonical(path);
  if (!stray.empty() && journal_numbers(path).empty()) {
    const auto number = journal_numbers(stray).front();
    throw RunError(file.string() + " is a link to " + path.string() + ", but the journal " +
                   journal_path(stray, number).string() + " is next to the link; move it to " +
                   journal_path(path, number).string());
  }
  return path;
}

}  // namespace

fs::path result_path(const fs::path& file) {
  if (file.empty()) throw RunError("the name of the result file is empty");
  try {
    return followed(file);
  } catch (const fs::filesystem_error& error) {
    throw RunError(file.string() + " cannot be used: " + error.code().message());
  }
}

std::vector<std::size_t> journal_numbers(const fs::path& path) {
  std::vector<std::size_t> numbers;
  for (const std::string& name : names_starting_with(path))
    if (const auto number = journal_number(name, path)) numbers.push_back(*number);
  std::sort(numbers.begin(), numbers.end());
  numbers.erase(std::unique(numbers.begin(), numbers.end()), numbers.end());
  return numbers;
}

void require_not_directory(const fs::path& path) {
  const auto found = stat_if_exists(path);
  if (found && S_ISDIR(found->st_mode))
    throw RunError(path.string() + " is a directory, not a result file; choose another name");
}

void throw_missing(const fs::path& path) {
  const auto numbers = journal_numbers(path);
  if (numbers.empty()) throw RunError(path.string() + " does not exist");
  throw RunError(path.string() + " does not exist, but its journal " +
                 journal_path(path, numbers.front()).string() +
                 " does; journals contain results, but neither the list of plans nor the settings: "
                 "move the file back or restore a copy of it. If it is lost, move the journals " +
                 path.string() + ".wal* away, and solve the plans again");
}

bool has_results(const fs::path& file) {
  const auto path = result_path(file);
  return file_exists(path) || !journal_numbers(path).empty();
}

}  // namespace wallheat
