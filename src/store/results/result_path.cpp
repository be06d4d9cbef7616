#include "store/results/result_path.hpp"

#include "io/file_names.hpp"
#include "io/posix_file.hpp"
#include "wallheat/error.hpp"

namespace wallheat {
namespace fs = std::filesystem;

namespace {

constexpr int most_links = 40;  // as the kernel allows

bool is_link(System& system, const fs::path& path) {
  struct stat info {};
  return system.lstat(path.c_str(), &info) == 0 && S_ISLNK(info.st_mode);
}

fs::path followed(System& system, const fs::path& file) {
  auto path = fs::absolute(file);
  fs::path stray;  // a log beside a link
  for (int links = 0; is_link(system, path); ++links) {
    if (links == most_links) {
      throw RunError(file.string() + " is a link that leads round in circles; name another");
    }
    if (exists(system, log_path(path))) stray = log_path(path);
    path = path.parent_path() / system.read_symlink(path);
  }
  path = system.weakly_canonical(path);
  if (!stray.empty() && !exists(system, log_path(path))) {
    throw RunError(file.string() + " is a link to " + path.string() + ", but the log " +
                   stray.string() + " lies beside the link; move it to " + log_path(path).string());
  }
  return path;
}

}  // namespace

fs::path result_path(const fs::path& file, System& system) {
  if (file.empty()) throw RunError("the name of the result file is empty");
  try {
    return followed(system, file);
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
