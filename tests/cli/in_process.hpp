#pragma once

#include <gtest/gtest.h>

#include <sstream>

#include "cli/commands.hpp"
#include "support/process.hpp"

namespace wallheat {

/// Runs a command within this process, which is faster than a process for each of hundreds.
inline Finished run_here(const Arguments& arguments) {
  Finished finished;
  testing::internal::CaptureStdout();
  testing::internal::CaptureStderr();
  finished.status = app_main(arguments);
  finished.err = testing::internal::GetCapturedStderr();
  finished.out = testing::internal::GetCapturedStdout();
  return finished;
}

/// Returns the names of all commands except launch and submit, which are scripts.
inline std::vector<std::string> all_commands() {
  std::istringstream overview(run_here({"help"}).out);
  std::vector<std::string> commands;
  for (std::string line; std::getline(overview, line);)
    if (line.starts_with("  ") && !line.starts_with("   "))
      commands.push_back(line.substr(2, line.find(' ', 2) - 2));
  std::erase_if(commands, [](const auto& name) { return name == "launch" || name == "submit"; });
  return commands;
}

}  // namespace wallheat
