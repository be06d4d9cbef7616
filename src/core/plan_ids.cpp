#include "wallheat/plan_ids.hpp"

#include <cerrno>
#include <cstring>
#include <fstream>
#include <unordered_set>

#include "wallheat/error.hpp"

namespace wallheat {

PlanIds unique_ids(const std::vector<std::string>& names) {
  PlanIds result;
  std::unordered_set<std::string> seen;
  for (const std::string& name : names) {
    if (name.size() > max_id_length) {
      throw RunError("the plan id '" + name.substr(0, 40) + "...' has " +
                     std::to_string(name.size()) + " bytes, at most " +
                     std::to_string(max_id_length) + " are possible");
    }
    (seen.insert(name).second ? result.ids : result.duplicates).push_back(name);
  }
  return result;
}

PlanIds read_ids(const std::filesystem::path& file) {
  std::ifstream stream(file, std::ios::binary);
  if (!stream || std::filesystem::is_directory(file)) {
    throw RunError("the ids file " + file.string() +
                   " cannot be read: " + (stream ? "it is a directory" : std::strerror(errno)));
  }
  std::vector<std::string> names;
  for (std::string line; std::getline(stream, line);) {
    if (names.empty() && line.starts_with("\xEF\xBB\xBF"))
      line.erase(0, 3);  // some editors' mark of UTF-8
    const auto first = line.find_first_not_of(" \t\r");
    if (first == std::string::npos) continue;
    names.push_back(line.substr(first, line.find_last_not_of(" \t\r") - first + 1));
  }
  if (stream.bad()) throw RunError("the ids file " + file.string() + " cannot be read to its end");
  if (names.empty()) throw RunError("the ids file " + file.string() + " names no plan");
  return unique_ids(names);
}

void check_id(std::string_view id) {
  const auto refuse = [&](const char* cause) {
    throw InputError("the plan id '" + std::string(id) + "' " + cause);
  };
  if (id.empty()) refuse("is empty");
  if (id.find('/') != std::string_view::npos)
    refuse("contains '/', which could leave the data directory");
  if (id.find("..") != std::string_view::npos)
    refuse("contains '..', which could leave the data directory");
  for (const char letter : id) {
    if (static_cast<unsigned char>(letter) < 0x20 || letter == 0x7f)
      refuse("contains a control character");
  }
}

}  // namespace wallheat
