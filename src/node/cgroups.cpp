#include "node/cgroups.hpp"

#include <algorithm>
#include <fstream>
#include <iterator>
#include <optional>
#include <sstream>

namespace wallheat {
namespace {

namespace fs = std::filesystem;

/// `list` has commas between its words.
bool holds(const std::string& list, const std::string& word) {
  return ("," + list + ",").find("," + word + ",") != std::string::npos;
}

/// Where a hierarchy of cgroups is mounted: all of it, or what a container sees of it.
struct Mount {
  bool version_2 = false;
  std::string root;  ///< the group that stands at `folder`
  fs::path folder;
};

/// Mounts of the hierarchies that can limit what the controller is for.
std::vector<Mount> cgroup_mounts(const fs::path& process, const std::string& controller) {
  std::vector<Mount> mounts;
  std::ifstream file(process / "mountinfo");
  for (std::string line; std::getline(file, line);) {
    // 32 31 0:29 ROOT FOLDER options [more fields] - type source super-options
    std::istringstream words(line);
    const std::vector<std::string> fields{std::istream_iterator<std::string>(words), {}};
    const auto dash = std::find(fields.begin(), fields.end(), "-");
    if (fields.size() < 6 || std::distance(dash, fields.end()) < 4) continue;
    const bool version_2 = dash[1] == "cgroup2";
    if (version_2 || (dash[1] == "cgroup" && holds(dash[3], controller)))
      mounts.push_back({version_2, fields[3], fields[4]});
  }
  return mounts;
}

/// The path of the process's group in a hierarchy, as the kernel tells it.
std::optional<std::string> group_path(const fs::path& process, const std::string& controller,
                                      bool version_2) {
  std::ifstream file(process / "cgroup");
  for (std::string line; std::getline(file, line);) {
    // number:controllers:path, with 0 and no controllers in version 2
    const std::size_t first = line.find(':');
    const std::size_t second = line.find(':', first + 1);
    if (first == std::string::npos || second == std::string::npos) continue;
    const std::string controllers = line.substr(first + 1, second - first - 1);
    if (version_2 ? controllers.empty() : holds(controllers, controller))
      return line.substr(second + 1);
  }
  return std::nullopt;
}

/// What must be added to a mount's folder to reach the group. A group that is not below the mount's
/// root is seen as the root itself: so it is in a container that has no names of its own for
/// groups.
fs::path below(const std::string& root, const std::string& path) {
  if (root == "/") return path.starts_with("/..") ? "" : path.substr(1);
  return path.starts_with(root + "/") ? path.substr(root.size() + 1) : "";
}

}  // namespace

std::vector<Cgroup> cgroups_of(const fs::path& process, const std::string& controller) {
  std::vector<Cgroup> groups;
  for (const Mount& mount : cgroup_mounts(process, controller)) {
    const auto path = group_path(process, controller, mount.version_2);
    if (!path) continue;
    fs::path folder = mount.folder;
    groups.push_back({mount.version_2, folder});
    for (const fs::path& part : below(mount.root, *path))
      groups.push_back({mount.version_2, folder /= part});
  }
  return groups;
}

}  // namespace wallheat
