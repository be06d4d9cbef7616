// A wallheat that was built without MPI, SQLite and libpng.
#include <string>

#include "support/shell_test.hpp"

namespace wallheat {
namespace {

class OptionalLibrariesTest : public ShellTest {
 protected:
  OptionalLibrariesTest() { generate(3); }
  /// Runs a command of this program.
  [[nodiscard]] Finished bare(const std::string& command, int status = 0) const {
    return shell("'" WALLHEAT_BARE_WALLHEAT "' " + command, status);
  }
};

TEST_F(OptionalLibrariesTest, SolvesAndListsWithoutThem) {
  shell("wallheat run --data plans --out full.h5");
  (void)bare("run --data plans --out r.h5");
  EXPECT_EQ(bare("export r.h5").out, shell("wallheat export full.h5").out);
  EXPECT_EQ(bare("list r.h5 --columns id,mean_temp --sort -mean_temp").out,
            shell("wallheat list full.h5 --columns id,mean_temp --sort -mean_temp").out);
}

TEST_F(OptionalLibrariesTest, ShowsInVersionWhetherItHasMpi) {
  const std::string none = R"("mpi": "none")";
  EXPECT_THAT(bare("version --json").out, HasSubstr(none));
  EXPECT_THAT(shell("wallheat version --json").out, Not(HasSubstr(none)));
}

TEST_F(OptionalLibrariesTest, NamesMissingLibrary) {
  (void)bare("run --data plans --out r.h5");
  for (const char* command : {"list r.h5 --where 'mean_temp > 1'", "list r.h5 --sort mean_temp+1",
                              "summary r.h5 --where 'mean_temp > 1'"})
    EXPECT_THAT(bare(command, 2).err, Mentions({"SQLite", "mean_temp"})) << command;
  EXPECT_THAT(bare("generate --from '" WALLHEAT_CONFIGS
                   "/../jobs/examples/flat.png' --wall '#000000=5' --out drawn",
                   2)
                  .err,
              Mentions({"flat.png", "libpng"}));
  EXPECT_FALSE(std::filesystem::exists(path("drawn")));
}

}  // namespace
}  // namespace wallheat
