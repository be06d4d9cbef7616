#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "support/process.hpp"

// Files of an earlier build: see tests/data/README.md.

namespace wallheat {
namespace {

TEST(KeptFiles, are_listed_to_the_last_digit) {
  const std::filesystem::path data = WALLHEAT_TEST_DATA;
  const TemporaryDirectory directory;
  for (const std::string name : {"plain", "fields", "killed"}) {
    for (const std::string end : {".h5", ".h5.wal0"})
      if (std::filesystem::exists(data / (name + end)))
        std::filesystem::copy_file(data / (name + end), directory / (name + end));
    const auto listed = run_program({WALLHEAT_PROGRAM, "list", "--columns", "all", "--json",
                                     (directory / (name + ".h5")).string()});
    EXPECT_EQ(nlohmann::json::parse(listed.out)["plans"],
              nlohmann::json::parse(file_text(data / (name + ".json"))))
        << name;
  }
}

}  // namespace
}  // namespace wallheat
