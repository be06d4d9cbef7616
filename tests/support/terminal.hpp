#pragma once

#include <fcntl.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <stdexcept>
#include <string>
#include <vector>

namespace wallheat {

/// Runs a program at a terminal of so many columns, and gives what it wrote there: one string for
/// each line, also for one that was drawn over (by a carriage return or an escape sequence).
inline std::vector<std::string> lines_at_terminal(unsigned short columns,
                                                  const std::vector<std::string>& arguments) {
  const int terminal = ::posix_openpt(O_RDWR | O_NOCTTY);
  if (terminal < 0 || ::grantpt(terminal) != 0 || ::unlockpt(terminal) != 0)
    throw std::runtime_error("no pseudo-terminal");
  const std::string name = ::ptsname(terminal);
  const winsize size{.ws_row = 24, .ws_col = columns, .ws_xpixel = 0, .ws_ypixel = 0};
  std::vector<char*> raw;
  for (const std::string& argument : arguments) raw.push_back(const_cast<char*>(argument.c_str()));
  raw.push_back(nullptr);
  const pid_t pid = ::fork();
  if (pid == 0) {
    ::setsid();
    ::setenv("TERM", "xterm", 1);
    ::unsetenv("COLUMNS");
    const int line = ::open(name.c_str(), O_RDWR);
    ::ioctl(line, TIOCSWINSZ, &size);
    for (const int descriptor : {0, 1, 2}) ::dup2(line, descriptor);
    ::execv(raw[0], raw.data());
    ::_exit(127);
  }
  std::string text;
  std::array<char, 4096> buffer{};
  // Ends with an error when the last holder of the other side is gone.
  for (ssize_t got = 0; (got = ::read(terminal, buffer.data(), buffer.size())) > 0;)
    text.append(buffer.data(), static_cast<std::size_t>(got));
  ::close(terminal);
  ::waitpid(pid, nullptr, 0);

  std::vector<std::string> lines(1);
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text.compare(i, 3, "\033[K") == 0) {
      i += 2;
    } else if (text[i] == '\n' || text[i] == '\r') {
      lines.emplace_back();
    } else {
      lines.back() += text[i];
    }
  }
  std::erase(lines, "");
  return lines;
}

}  // namespace wallheat
