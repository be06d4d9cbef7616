#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstddef>
#include <filesystem>
#include <memory>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>

#include "core/text.hpp"
#include "io/standard_streams.hpp"
#include "isolation/build_id.hpp"
#include "isolation/worker_loop.hpp"

namespace wallheat {
namespace {

/// Returns true if the file contains the hash of this build.
bool belongs_to_this_build(const FileDescriptor& file) {
  const off_t end = ::lseek(file.get(), 0, SEEK_END);
  if (end <= 0) return false;
  const auto size = static_cast<std::size_t>(end);
  void* const content = ::mmap(nullptr, size, PROT_READ, MAP_PRIVATE, file.get(), 0);
  if (content == MAP_FAILED) return false;
  const bool contains_hash =
      std::string_view(static_cast<const char*>(content), size).find(build_id) !=
      std::string_view::npos;
  ::munmap(content, size);
  return contains_hash;
}

}  // namespace

SolverProgram find_solver_program(bool may_warn) {
  std::error_code error;
  const auto folder = std::filesystem::read_symlink("/proc/self/exe", error).parent_path();
  const std::string name = folder / "wallheat-solver-process";
  auto file = std::make_shared<const FileDescriptor>(::open(name.c_str(), O_RDONLY | O_CLOEXEC));
  if (error || file->get() < 0) return {};
  if (!belongs_to_this_build(*file)) {
    if (may_warn)
      print_error(
          "wallheat: warning: {} belongs to another build of wallheat and is not used; install "
          "both programs together",
          escape_control_chars(name));
    return {};
  }
  return {"/proc/self/fd/" + std::to_string(file->get()), {"solver-process"}, std::move(file)};
}

}  // namespace wallheat
