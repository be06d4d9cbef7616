#include "io/program_output.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <signal.h>
#include <spawn.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <memory>

#include "core/file_descriptor.hpp"
#include "wallheat/error.hpp"

namespace wallheat {
namespace {

[[noreturn]] void refuse_memory(const std::string& program) {
  throw RunError(
      fmt::format("no memory for what {} reads or says: {}", program, std::strerror(errno)));
}

/// A file in memory.
FileDescriptor memory_file(const std::string& program) {
  FileDescriptor file(::memfd_create(program.c_str(), MFD_CLOEXEC));
  if (file.get() < 0) refuse_memory(program);
  return file;
}

void write_all(const std::string& program, int file, std::string_view text) {
  while (!text.empty()) {
    const ssize_t written = ::write(file, text.data(), text.size());
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) refuse_memory(program);
    text.remove_prefix(static_cast<std::size_t>(written));
  }
}

std::string all_of(const std::string& program, int file) {
  std::string text(static_cast<std::size_t>(std::max<off_t>(::lseek(file, 0, SEEK_END), 0)), '\0');
  for (std::size_t at = 0; at < text.size();) {
    const ssize_t got = ::pread(file, text.data() + at, text.size() - at, static_cast<off_t>(at));
    if (got <= 0)
      throw RunError(fmt::format("what {} said cannot be read: {}", program, std::strerror(errno)));
    at += static_cast<std::size_t>(got);
  }
  return text;
}

/// This process's environment with some variables set anew.
std::vector<std::string> changed_environment(const std::vector<std::string>& changes) {
  std::vector<std::string> all = changes;
  const auto name_of = [](const std::string& entry) { return entry.substr(0, entry.find('=')); };
  for (char** entry = ::environ; *entry != nullptr; ++entry) {
    const std::string text = *entry;
    if (std::none_of(changes.begin(), changes.end(),
                     [&](const std::string& change) { return name_of(change) == name_of(text); }))
      all.push_back(text);
  }
  return all;
}

std::vector<char*> pointers_to(std::vector<std::string>& texts) {
  std::vector<char*> pointers;
  pointers.reserve(texts.size() + 1);
  for (std::string& text : texts) pointers.push_back(text.data());
  pointers.push_back(nullptr);
  return pointers;
}

}  // namespace

std::optional<ProgramOutput> output_of(const std::vector<std::string>& words,
                                       std::string_view input,
                                       const std::vector<std::string>& environment) {
  const std::string& program = words.front();
  const FileDescriptor in = memory_file(program);
  const FileDescriptor out = memory_file(program);
  const FileDescriptor messages = memory_file(program);
  write_all(program, in.get(), input);
  (void)::lseek(in.get(), 0, SEEK_SET);

  posix_spawn_file_actions_t actions{};
  (void)::posix_spawn_file_actions_init(&actions);
  const auto forget = [](posix_spawn_file_actions_t* of) {
    (void)::posix_spawn_file_actions_destroy(of);
  };
  const std::unique_ptr<posix_spawn_file_actions_t, decltype(forget)> destroy(&actions, forget);
  (void)::posix_spawn_file_actions_adddup2(&actions, in.get(), STDIN_FILENO);
  (void)::posix_spawn_file_actions_adddup2(&actions, out.get(), STDOUT_FILENO);
  (void)::posix_spawn_file_actions_adddup2(&actions, messages.get(), STDERR_FILENO);
  // Other programs expect these two to kill, as they do outside of this one.
  posix_spawnattr_t attributes{};
  (void)::posix_spawnattr_init(&attributes);
  const auto forget_attributes = [](posix_spawnattr_t* of) { (void)::posix_spawnattr_destroy(of); };
  const std::unique_ptr<posix_spawnattr_t, decltype(forget_attributes)> destroy_attributes(
      &attributes, forget_attributes);
  sigset_t ignored_here{};
  sigemptyset(&ignored_here);
  sigaddset(&ignored_here, SIGPIPE);
  sigaddset(&ignored_here, SIGXFSZ);
  (void)::posix_spawnattr_setsigdefault(&attributes, &ignored_here);
  (void)::posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGDEF);

  std::vector<std::string> arguments = words;
  std::vector<std::string> variables = changed_environment(environment);
  pid_t child = 0;
  const int failed = ::posix_spawnp(&child, program.c_str(), &actions, &attributes,
                                    pointers_to(arguments).data(), pointers_to(variables).data());
  if (failed == ENOENT) return std::nullopt;
  if (failed != 0)
    throw RunError(fmt::format("{} cannot be started: {}", program, std::strerror(failed)));
  ProgramOutput output;
  while (::waitpid(child, &output.status, 0) < 0 && errno == EINTR) {
  }
  output.out = all_of(program, out.get());
  output.messages = all_of(program, messages.get());
  return output;
}

}  // namespace wallheat
