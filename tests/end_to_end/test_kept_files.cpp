#include <gtest/gtest.h>

#include "support/process.hpp"

// Files of an earlier build: see tests/data/README.md.

namespace wallheat {
namespace {

TEST(KeptFiles, are_exported_byte_for_byte) {
  const std::filesystem::path data = WALLHEAT_TEST_DATA;
  const TemporaryDirectory directory;
  for (const std::string name : {"plain", "fields", "killed"}) {
    for (const std::string end : {".h5", ".h5.wal0"})
      if (std::filesystem::exists(data / (name + end)))
        std::filesystem::copy_file(data / (name + end), directory / (name + end));
    const auto exported = run_program(
        {WALLHEAT_PROGRAM, "export", "--format", "json", (directory / (name + ".h5")).string()});
    EXPECT_EQ(exported.out, file_text(data / (name + ".json"))) << name;
  }
}

}  // namespace
}  // namespace wallheat
