#include "store/results/result_path.hpp"

#include "io/file_names.hpp"
#include "wallheat/error.hpp"

namespace wallheat {
namespace fs = std::filesystem;

namespace {

constexpr int most_links = 40;  // as the kernel allows

fs::path followed(const fs::path& file) {
  auto path = fs::absolute(file);
  fs::path stray;  // a log beside a link
  for (int links = 0; fs::is_symlink(path); ++links) {
    if (links == most_links) {
      throw RunError(file.string() + " is a link that leads round in circles; name another");
    }
    if (fs::exists(log_path(path))) stray = log_path(path);
    path = path.parent_path() / fs::read_symlink(path);
  }
  path = fs::weakly_canonical(path);
  if (!stray.empty() && !fs::exists(log_path(path))) {
    throw RunError(file.string() + " is a link to " + path.string() + ", but the log " +
                   stray.string() + " lies beside the link; move it to " + log_path(path).string());
  }
  return path;
}

}  // namespace

fs::path result_path(const fs::path& file) {
  try {
    return followed(file);
  } catch (const fs::filesystem_error& error) {
    throw RunError(file.string() + " cannot be used: " + error.code().message());
  }
}

bool has_results(const fs::path& file) {
  const auto path = result_path(file);
  std::error_code unknown;
  return fs::exists(path, unknown) || fs::exists(log_path(path), unknown);
}

}  // namespace wallheat
