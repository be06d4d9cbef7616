#include "store/result_path.hpp"

#include "io/file_names.hpp"
#include "io/files.hpp"

namespace wallheat {
namespace fs = std::filesystem;

namespace {

constexpr int most_links = 40;  // as the kernel allows

fs::path followed(const fs::path& file) {
  auto path = fs::absolute(file);
  fs::path stray;  // a journal beside a link
  for (int links = 0; fs::is_symlink(fs::symlink_status(path)); ++links) {
    if (links == most_links)
      throw RunError(file.string() + " is a link that leads round in circles; name another");
    if (is_there(journal_path(path, 0))) stray = journal_path(path, 0);
    path = path.parent_path() / fs::read_symlink(path);
  }
  path = fs::weakly_canonical(path);
  if (!stray.empty() && !is_there(journal_path(path, 0)))
    throw RunError(file.string() + " is a link to " + path.string() + ", but the journal " +
                   stray.string() + " lies beside the link; move it to " +
                   journal_path(path, 0).string());
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

bool has_results(const fs::path& file) {
  const auto path = result_path(file);
  return is_there(path) || is_there(journal_path(path, 0));
}

}  // namespace wallheat
