#include <algorithm>
#include <nlohmann/json.hpp>

#include "node/local_machine.hpp"
#include "support/fake_gpu.hpp"
#include "support/matchers.hpp"
#include "support/process.hpp"
#include "support/shapes.hpp"
#include "support/shell_test.hpp"
#include "wallheat/floor_plan_files.hpp"
#include "wallheat/result_reader.hpp"

// End-to-end runs with the fake GPUs of run/fake_gpu_wallheat.cpp.

namespace wallheat {
namespace {

using Words = std::vector<std::string>;

const Words three_ranks{"mpirun", "-n", "3", "--oversubscribe", "--bind-to", "none"};

class FakeGpuRunTest : public testing::Test {
 protected:
  FakeGpuRunTest() {
    for (std::size_t plan = 0; plan < 24; ++plan)
      save_floor_plan(directory_.path(), "p" + std::to_string(plan), room(20 + plan, 30));
  }
  [[nodiscard]] std::string path(const std::string& name) const {
    return (directory_ / name).string();
  }
  /// Returns a command line that runs on two cores of any machine, with all GPUs if `gpu` is empty,
  /// else with this one. `launcher` may begin with NAME=VALUE.
  [[nodiscard]] Words command(const std::string& gpu, const std::string& out,
                              const std::string& device, const Words& more = {},
                              const Words& launcher = {}) const {
    const std::vector<Core> cores = local_machine().cores;
    Words words{
        "taskset", "-c",
        std::to_string(cores.front().cpu) + "," + std::to_string(cores[cores.size() / 2].cpu),
        "env", gpu.empty() ? "ALL=yes" : "CUDA_VISIBLE_DEVICES=" + gpu};
    words.insert(words.end(), launcher.begin(), launcher.end());
    const Words wallheat{WALLHEAT_FAKE_GPUS,
                         "run",
                         "--data",
                         directory_.path().string(),
                         "--out",
                         path(out),
                         "--device",
                         device,
                         "--events",
                         path("events"),
                         "--threads=2"};
    words.insert(words.end(), wallheat.begin(), wallheat.end());
    words.insert(words.end(), more.begin(), more.end());
    return words;
  }
  [[nodiscard]] Finished run(const std::string& gpu, const std::string& out,
                             const std::string& device, const Words& more = {},
                             const Words& launcher = {}) const {
    return run_program(command(gpu, out, device, more, launcher));
  }
  /// Creates the file of WALLHEAT_GO when the events name these GPUs.
  [[nodiscard]] Finished run_and_let_go(const Words& command, const Words& gpus) const {
    Process process(command);
    wait_until("the GPUs", [&] {
      const std::string events = file_text(path("events"));
      return std::ranges::all_of(
          gpus, [&](const std::string& gpu) { return events.find(gpu) != std::string::npos; });
    });
    std::ofstream(directory_ / "go") << "";
    const int status = process.wait();
    return {status, process.out(), process.err()};
  }
  /// Expects that the results of a file are bit-identical to those of the CPU.
  void expect_results_of_the_cpu(const std::string& file, const Words& options = {}) const {
    ASSERT_EQ(run("", "cpu.h5", "cpu", options).status, 0);
    const Finished compared =
        run_program({WALLHEAT_PROGRAM, "compare", path("cpu.h5"), path(file), "--require-equal"});
    EXPECT_EQ(compared.status, 0) << compared.out;
  }

  TemporaryDirectory directory_;
};

TEST_F(FakeGpuRunTest, SolvesOnGpuTogetherWithCpu) {
  // The CPU starts after the GPU, which cannot solve this plan.
  save_floor_plan(directory_.path(), "large", with_fault(room(20, 30), GpuFault::too_large));
  Words launcher{"WALLHEAT_GO=" + path("go")};
  launcher.insert(launcher.end(), three_ranks.begin(), three_ranks.end());
  const Finished mixed =
      run_and_let_go(command("1", "mixed.h5", "auto", {}, launcher), {"GPU-fake-1"});
  ASSERT_EQ(mixed.status, 0) << mixed.err;
  EXPECT_THAT(mixed.err, testing::ContainsRegex("gpu Fake GPU +4"));
  EXPECT_THAT(lines_of(mixed.err),
              AllOf(Contains(Mentions({"GPU 0", "GPU-fake-1", "3 GiB", "NUMA node 0"})),
                    Contains(Mentions({"rank 2", "CPU"}))));
  expect_results_of_the_cpu("mixed.h5");
}

TEST_F(FakeGpuRunTest, ReportsVisibleGpusByDevicesCommand) {
  const Finished shown =
      run_program({"env", "CUDA_VISIBLE_DEVICES=1", WALLHEAT_FAKE_GPUS, "devices", "--json"});
  ASSERT_EQ(shown.status, 0) << shown.err;
  const auto report = nlohmann::json::parse(shown.out);
  ASSERT_EQ(report["gpus"].size(), 1U);
  EXPECT_EQ(report["gpus"][0]["uuid"], "GPU-fake-1");
  EXPECT_GT(report["solvers"][2]["plans_per_s"], report["solvers"][0]["plans_per_s"]);
  EXPECT_TRUE(report["no_gpu"].is_null());
}

TEST_F(FakeGpuRunTest, ReportsKernelTimesOfPlans) {
  const Finished finished = run("0", "x.h5", "gpu");
  ASSERT_EQ(finished.status, 0) << finished.err;
  EXPECT_THAT(lines_of(finished.err),
              Contains(Mentions({"GPUs", "kernels", "upload", "download"})));
  const auto has_kernel_row = testing::ContainsRegex(
      "fake kernel +24 +0[.]000 +0[.]005 +0[.]005 +0[.]005");  // plans, s, then three in ms
  EXPECT_THAT(finished.err, has_kernel_row);
  EXPECT_THAT(run_program({WALLHEAT_PROGRAM, "summary", path("x.h5")}).out, has_kernel_row);
  const Finished traced = run_program({WALLHEAT_PROGRAM, "trace", path("x.h5"), "--events",
                                       path("events"), "--out", path("trace.json")});
  ASSERT_EQ(traced.status, 0) << traced.err;
  std::size_t kernels = 0;
  const auto trace = nlohmann::json::parse(file_text(path("trace.json")));
  for (const auto& event : trace["traceEvents"])
    if (event["name"] == "kernel") {
      ++kernels;
      EXPECT_EQ(
          event["args"],
          (nlohmann::json{{"stream", 3}, {"kernel", "fake kernel"}, {"grid", 7}, {"block", 128}}));
      EXPECT_NEAR(event["dur"].get<double>(), 5, 1e-3);
    }
  EXPECT_EQ(kernels, 24U);
}

TEST_F(FakeGpuRunTest, TracesKernelTimesOfOwnSessionOnly) {
  ASSERT_EQ(run("0", "x.h5", "gpu", {"p0"}).status, 0);
  // The results of another session in the same event log are equal but for the kernel.
  std::string others;
  for (const std::string& line : lines_of(file_text(path("events")))) {
    auto event = nlohmann::ordered_json::parse(line);
    if (!event.contains("gpu") || event["event"] != "result") continue;
    event["session_id"] = "0123456789abcdef";
    event["gpu"]["kernel"] = "kernel of another session";
    others += event.dump() + "\n";
  }
  ASSERT_NE(others, "");
  std::ofstream(path("events"), std::ios::app) << others;
  const auto trace = [&](const std::string& events) {
    return run_program({WALLHEAT_PROGRAM, "trace", path("x.h5"), "--events", path(events), "--out",
                        path("trace.json"), "--overwrite"});
  };
  ASSERT_EQ(trace("events").status, 0);
  EXPECT_THAT(file_text(path("trace.json")),
              AllOf(HasSubstr("fake kernel"), Not(HasSubstr("kernel of another session"))));
  std::ofstream(path("other events")) << others;
  const Finished refused = trace("other events");
  EXPECT_EQ(refused.status, 1);
  EXPECT_THAT(refused.err, Mentions({"other events", "sessions", "--events"}));
}

TEST_F(FakeGpuRunTest, SolvesAnyJacobiPlanOnGpu) {
  const auto device = [&](const std::string& out, const Words& more) {
    const Finished finished = run("0", out, "auto", more);
    EXPECT_EQ(finished.status, 0) << finished.err;
    return ResultReader(path(out)).rows().front().device;
  };
  EXPECT_EQ(device("small.h5", {"p0"}), "gpu Fake GPU");
  FloorPlan heated = room(20, 30);
  heated.source = Grid<double>(20, 30, 1.0);
  save_floor_plan(directory_.path(), "heated", heated);
  EXPECT_EQ(device("heated.h5", {"heated", "--spacing=0.05"}), "gpu Fake GPU");
  EXPECT_THAT(device("steady.h5", {"p0", "--solver=steady"}), StartsWith("cpu "));
}

TEST_F(FakeGpuRunTest, ReportsDeviceInPreflightCheck) {
  const auto device = [&](const std::string& choice, const Words& more = {}) {
    Words words{"--check", "--json"};
    words.insert(words.end(), more.begin(), more.end());
    const Finished finished = run("", "x.h5", choice, words);
    EXPECT_EQ(finished.status, 0) << finished.err;
    return nlohmann::json::parse(finished.out)["facts"].value("device", "");
  };
  EXPECT_THAT(device("auto"), Mentions({"4 GPUs", "Fake GPU"}));
  EXPECT_THAT(device("auto", {"--solver=steady"}),
              AllOf(Mentions({"CPU", "steady"}), Not(Mentions("Fake GPU"))));
  EXPECT_EQ(device("cpu"), "");
}

TEST_F(FakeGpuRunTest, SolvesOnAllGpusInOneProcess) {
  // Two of the four are broken and leave. The patient plans keep each of the others busy until both
  // are ready.
  for (std::size_t plan = 0; plan < 24; ++plan)
    save_floor_plan(directory_.path(), "p" + std::to_string(plan),
                    with_fault(room(20 + plan, 30), GpuFault::patient));
  const Finished finished = run_and_let_go(
      command("", "x.h5", "gpu", {}, {"WALLHEAT_GO=" + path("go")}), {"GPU-fake-0", "GPU-fake-1"});
  ASSERT_EQ(finished.status, 0) << finished.err;
  EXPECT_THAT(ResultReader(path("x.h5")).rows(),
              Each(Field(&PlanResult::status, PlanStatus::converged)));
}

TEST_F(FakeGpuRunTest, FallsBackToCpuWhenOnlyGpuFails) {
  for (const std::string gpu :
       {"2", "3"}) {  // one fails for each plan, the other when it is opened
    const std::string out = "gpu" + gpu + ".h5";
    const Finished finished = run(gpu, out, "auto");
    EXPECT_EQ(finished.status, 0) << finished.err;
    EXPECT_THAT(lines_of(finished.err), Contains(Mentions({"Fake GPU", "the CPU"})));
    const ResultReader reader(path(out));
    for (const PlanResult& row : reader.rows())
      EXPECT_THAT(row.device, AllOf(StartsWith("cpu "), Mentions("GPU")));
    expect_results_of_the_cpu(out, {"--overwrite"});
  }
}

TEST_F(FakeGpuRunTest, FailsWhenRequiredGpuIsBrokenOrMissing) {
  const auto expect_failure = [&](const std::string& gpu, const Facts& facts,
                                  const Words& launcher = {}) {
    const Finished finished = run(gpu, gpu + ".h5", "gpu", {}, launcher);
    EXPECT_EQ(finished.status, 1) << gpu;
    EXPECT_THAT(lines_of(finished.err), Contains(Mentions(facts)));
  };
  expect_failure("2", {"gpu Fake GPU", "the fake GPU is broken"});
  expect_failure("3", {"GPU 0", "Fake GPU", "GPU-fake-3",
                       "the fake GPU does not know the known answer", "--device cpu"});
  expect_failure("0", {"worker 2", "GPU", "1", "2 workers"}, three_ranks);
}

TEST_F(FakeGpuRunTest, FailsPlanTooLargeForOnlyGpu) {
  save_floor_plan(directory_.path(), "large", with_fault(room(20, 30), GpuFault::too_large));
  const Finished alone = run("1", "alone.h5", "gpu", {"large"});
  EXPECT_EQ(alone.status, 3) << alone.err;
  EXPECT_THAT(ResultReader(path("alone.h5")).rows().front().error,
              HasSubstr("too large for the fake GPU"));
}

TEST_F(FakeGpuRunTest, UsesMaxHardwareQueuesUnlessUserOverrides) {
  for (const std::string wanted : {"", "4"}) {
    Words words{"WALLHEAT_FAKE_GPU_QUEUES=" + path("queues")};
    if (!wanted.empty()) words.push_back("CUDA_DEVICE_MAX_CONNECTIONS=" + wanted);
    ASSERT_EQ(run("0", "x" + wanted + ".h5", "gpu", {}, words).status, 0);
    EXPECT_EQ(file_text(path("queues")), wanted.empty() ? "32" : wanted);
  }
}

}  // namespace
}  // namespace wallheat
