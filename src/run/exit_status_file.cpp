#include "run/exit_status_file.hpp"

#include <array>
#include <fstream>
#include <string_view>

#include "io/print_error.hpp"

namespace wallheat {

bool may_hold_exit_status(const std::filesystem::path& path) {
  std::error_code missing;
  if (!std::filesystem::is_regular_file(path, missing)) return true;
  constexpr std::size_t longest = 4;  // "255\n"
  std::array<char, longest + 1> bytes{};
  std::ifstream file(path, std::ios::binary);
  file.read(bytes.data(), bytes.size());
  const std::string_view text(bytes.data(), static_cast<std::size_t>(file.gcount()));
  return text.size() <= longest && text.find_first_not_of("0123456789\n") == std::string_view::npos;
}

void write_exit_status(const std::filesystem::path& path, int status) {
  if (path.empty()) return;
  if (!may_hold_exit_status(path)) {
    print_error("wallheat: {} holds something else than an exit status and is left as it is",
                path.string());
    return;
  }
  std::ofstream file(path);
  file << status << '\n' << std::flush;
  if (!file) print_error("wallheat: the exit status cannot be written to {}", path.string());
}

}  // namespace wallheat
