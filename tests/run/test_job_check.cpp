#include <nlohmann/json.hpp>

#include "support/matchers.hpp"
#include "support/process.hpp"
#include "support/shapes.hpp"
#include "support/temporary_directory.hpp"
#include "wallheat/floor_plan_files.hpp"

// `wallheat run --check=job`: jobs whose resources do not match the program or its options.

namespace wallheat {
namespace {

using Json = nlohmann::json;
using Words = std::vector<std::string>;

class JobCheckTest : public testing::Test {
 protected:
  JobCheckTest() { save_floor_plan(directory_.path(), "a", room(20, 30)); }

  /// Returns the JSON output of the check. CUDA_VISIBLE_DEVICES hides all fake GPUs, as on the
  /// machine that submits a job.
  [[nodiscard]] Json check(const char* program, const std::string& job,
                           const Words& options = {}) const {
    Words words{"env", "CUDA_VISIBLE_DEVICES=9", program, "run", "--json", "--check=" + job};
    words.insert(words.end(), {"--data", directory_.path().string(), "--out", directory_ / "r.h5"});
    words.insert(words.end(), options.begin(), options.end());
    const Finished finished = run_program(words);
    return Json::parse(finished.out);
  }
  static std::vector<std::string> problems(const Json& found) { return found.at("problems"); }

  const char* const with_gpus_ = WALLHEAT_FAKE_GPUS;
  const char* const bare_ = WALLHEAT_BARE_WALLHEAT;  // without optional libraries
  const Words gpu_{"--device", "gpu"};
  TemporaryDirectory directory_;
};

TEST_F(JobCheckTest, AcceptsGpusThatOnlyTheNodesHave) {
  for (const char* job : {"job", "job:gpus=2,workers=2", "job:nodes=4,workers=1,gpus=2"})
    EXPECT_THAT(problems(check(with_gpus_, job, gpu_)), IsEmpty()) << job;
  EXPECT_THAT(problems(check(with_gpus_, "job:workers=3,gpus=2")), IsEmpty());
}

TEST_F(JobCheckTest, RequiresGpusForDeviceGpu) {
  EXPECT_THAT(problems(check(with_gpus_, "job:gpus=0", gpu_)),
              ElementsAre(Mentions({"--device gpu", "--gpus"})));
  EXPECT_THAT(problems(check(with_gpus_, "job:gpus=2,workers=3", gpu_)),
              ElementsAre(Mentions({"--device gpu", "2 GPUs", "3 workers", "--workers 2"})));
  EXPECT_THAT(problems(check(with_gpus_, "job:gpus=0")), IsEmpty());
}

TEST_F(JobCheckTest, RejectsGpusThatAreNotUsed) {
  for (const auto& [name, value] : {std::pair("--solver", "steady"),
                                    {"--solver", "fastforward"},
                                    {"--solver-backend", "reference"},
                                    {"--norm", "l2"},
                                    {"--device", "cpu"}})
    EXPECT_THAT(problems(check(with_gpus_, "job:gpus=2,workers=2", {name, value})),
                ElementsAre(Mentions({"--gpus 2", std::string(name) + " " + value})));
}

TEST_F(JobCheckTest, RequiresDeviceGpuForSolverCommandWithGpus) {
  const Words command{"--solver-command", "sh -c 'exit 1'"};
  EXPECT_THAT(problems(check(with_gpus_, "job:gpus=2,workers=2", command)),
              ElementsAre(AllOf(Mentions({"--gpus 2", "--device gpu"}), Not(Mentions("cpu")))));
}

TEST_F(JobCheckTest, OnlyWarnsAboutProgramThatCannotStartOnThisHost) {
  const Words command{"--solver-command", "a-program-that-only-the-nodes-have"};
  const Json found = check(bare_, "job", command);
  EXPECT_THAT(problems(found), IsEmpty());
  EXPECT_THAT(found.at("warnings").dump(), Mentions("a-program-that-only-the-nodes-have"));
  EXPECT_THAT(found.at("facts").dump(), Mentions({"--first 3", "--solver-memory"}));
  EXPECT_THAT(problems(check(bare_, "here", command)), Not(IsEmpty()));
}

TEST_F(JobCheckTest, NamesNoGpusForProgramWithoutCuda) {
  EXPECT_THAT(check(bare_, "job").at("facts").at("device").dump(),
              AllOf(Mentions("CUDA"), Not(HasSubstr("GPUs of"))));
}

TEST_F(JobCheckTest, RejectsGpusForProgramWithoutCuda) {
  EXPECT_THAT(problems(check(bare_, "job:gpus=2,workers=2")),
              ElementsAre(Mentions({"--gpus 2", "CUDA"})));
  for (const char* job : {"job", "job:gpus=2,workers=2"})
    EXPECT_THAT(problems(check(bare_, job, gpu_)), ElementsAre(Mentions({"--device gpu", "CUDA"})))
        << job;
  EXPECT_THAT(problems(check(bare_, "job:gpus=0,cores=4")), IsEmpty());
}

TEST_F(JobCheckTest, RejectsSeveralRanksOfProgramWithoutMpi) {
  EXPECT_THAT(problems(check(bare_, "job:nodes=1,workers=1")), IsEmpty()) << "without mpirun";
  EXPECT_THAT(problems(check(bare_, "job:nodes=1,workers=2")),
              ElementsAre(Mentions({"MPI", "2 workers", "1 node", "--workers 1"})));
  EXPECT_THAT(problems(check(bare_, "job:nodes=3,workers=4")),
              ElementsAre(Mentions({"MPI", "12 workers"})));
}

TEST_F(JobCheckTest, SendsNoShortRunToMachineWithoutItsGpu) {
  const auto warnings = [&](const Words& options) {
    return check(with_gpus_, "job:gpus=1", options).at("warnings").dump();
  };
  EXPECT_THAT(warnings(gpu_), Mentions("--device gpu")) << "this machine has no GPU";
  EXPECT_THAT(warnings({}), AllOf(Mentions("wallheat run"), Not(Mentions("--device gpu"))));
}

}  // namespace
}  // namespace wallheat
