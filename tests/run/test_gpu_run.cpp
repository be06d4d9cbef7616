#include <algorithm>
#include <nlohmann/json.hpp>

#include "node/local_machine.hpp"
#include "support/fake_gpu.hpp"
#include "support/matchers.hpp"
#include "support/process.hpp"
#include "support/shapes.hpp"
#include "wallheat/floor_plan_files.hpp"
#include "wallheat/result_reader.hpp"

// The whole program with GPUs. They are fakes: see run/fake_gpu_wallheat.cpp.

namespace wallheat {
namespace {

using Words = std::vector<std::string>;

const Words three_ranks{"mpirun", "-n", "3", "--oversubscribe", "--bind-to", "none"};

class FakeGpuRun : public testing::Test {
 protected:
  FakeGpuRun() {
    for (std::size_t plan = 0; plan < 24; ++plan)
      save_floor_plan(directory_.path(), "p" + std::to_string(plan), room(20 + plan, 30));
  }
  [[nodiscard]] std::string path(const std::string& name) const {
    return (directory_ / name).string();
  }
  /// On few cores wherever the test runs; all GPUs are there, or only one. `launcher` may begin
  /// with NAME=VALUE.
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
  /// Lets go what waits for it once the events name these GPUs.
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
  /// That a file has the answers of the CPU, to the last bit.
  void expect_answers_of_the_cpu(const std::string& file, const Words& options = {}) const {
    ASSERT_EQ(run("", "cpu.h5", "cpu", options).status, 0);
    const Finished compared =
        run_program({WALLHEAT_PROGRAM, "compare", path("cpu.h5"), path(file), "--require-equal"});
    EXPECT_EQ(compared.status, 0) << compared.out;
  }

  TemporaryDirectory directory_;
};

TEST_F(FakeGpuRun, solves_on_gpus_and_cpus_of_a_host_in_one_run) {
  // The CPU is there once the GPU is, which leaves it a plan.
  save_floor_plan(directory_.path(), "large", with_fault(room(20, 30), GpuFault::too_large));
  Words launcher{"WALLHEAT_GO=" + path("go")};
  launcher.insert(launcher.end(), three_ranks.begin(), three_ranks.end());
  const Finished mixed =
      run_and_let_go(command("1", "mixed.h5", "auto", {}, launcher), {"GPU-fake-1"});
  ASSERT_EQ(mixed.status, 0) << mixed.err;
  EXPECT_THAT(mixed.err, testing::ContainsRegex("gpu Fake GPU +4"));
  EXPECT_THAT(mixed.err, HasSubstr("GPU 0: GPU-fake-1, 3 GiB, NUMA node 0"));
  EXPECT_THAT(mixed.err, HasSubstr("rank 2: on the CPU: the others of its host have them all"));
  expect_answers_of_the_cpu("mixed.h5");
}

TEST_F(FakeGpuRun, is_told_what_its_gpus_are) {
  const Finished shown =
      run_program({"env", "CUDA_VISIBLE_DEVICES=1", WALLHEAT_FAKE_GPUS, "devices", "--json"});
  ASSERT_EQ(shown.status, 0) << shown.err;
  const auto report = nlohmann::json::parse(shown.out);
  ASSERT_EQ(report["gpus"].size(), 1U);
  EXPECT_EQ(report["gpus"][0]["uuid"], "GPU-fake-1");
  EXPECT_GT(report["solvers"][2]["plans_per_s"], report["solvers"][0]["plans_per_s"]);
  EXPECT_TRUE(report["no_gpu"].is_null());
}

TEST_F(FakeGpuRun, tells_where_the_time_of_plans_on_gpus_went) {
  const Finished finished = run("0", "x.h5", "gpu");
  ASSERT_EQ(finished.status, 0) << finished.err;
  EXPECT_THAT(finished.err, HasSubstr("threads were at plans on GPUs: kernels "));
  const std::string kernel = "fake kernel        24      0.000     0.005     0.005       0.005";
  EXPECT_THAT(finished.err, HasSubstr(kernel));
  EXPECT_THAT(run_program({WALLHEAT_PROGRAM, "summary", path("x.h5")}).out, HasSubstr(kernel));
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

TEST_F(FakeGpuRun, takes_the_gpu_for_any_plans_of_jacobi) {
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

TEST_F(FakeGpuRun, says_beforehand_who_will_solve_and_why) {
  const auto device = [&](const std::string& choice, const Words& more = {}) {
    Words words{"--check", "--json"};
    words.insert(words.end(), more.begin(), more.end());
    const Finished finished = run("", "x.h5", choice, words);
    EXPECT_EQ(finished.status, 0) << finished.err;
    return nlohmann::json::parse(finished.out)["facts"].value("device", "");
  };
  EXPECT_EQ(device("auto"), "4 GPUs: Fake GPU");
  EXPECT_EQ(device("auto", {"--solver=steady"}), "the CPU: GPUs do not have the solver steady");
  EXPECT_EQ(device("cpu"), "");
}

TEST_F(FakeGpuRun, solves_on_all_gpus_in_one_process) {
  // Two of the four are broken, and leave. The others have plans at hand until both are there.
  for (std::size_t plan = 0; plan < 24; ++plan)
    save_floor_plan(directory_.path(), "p" + std::to_string(plan),
                    with_fault(room(20 + plan, 30), GpuFault::patient));
  const Finished finished = run_and_let_go(
      command("", "x.h5", "gpu", {}, {"WALLHEAT_GO=" + path("go")}), {"GPU-fake-0", "GPU-fake-1"});
  ASSERT_EQ(finished.status, 0) << finished.err;
  EXPECT_THAT(ResultReader(path("x.h5")).rows(),
              Each(Field(&PlanResult::status, PlanStatus::converged)));
}

TEST_F(FakeGpuRun, goes_on_with_the_cpu_when_its_only_gpu_is_broken) {
  for (const std::string gpu : {"2", "3"}) {  // one that fails at work, and one that never opens
    const std::string out = "gpu" + gpu + ".h5";
    const Finished finished = run(gpu, out, "auto");
    EXPECT_EQ(finished.status, 0) << finished.err;
    EXPECT_THAT(finished.err, HasSubstr("on the CPU"));
    const ResultReader reader(path(out));
    for (const PlanResult& row : reader.rows())
      EXPECT_THAT(row.device, AllOf(StartsWith("cpu "), HasSubstr("in place of a failed GPU")));
    expect_answers_of_the_cpu(out, {"--overwrite"});
  }
}

TEST_F(FakeGpuRun, ends_with_the_reason_if_a_gpu_that_it_must_use_is_broken_or_missing) {
  const auto expect_failure = [&](const std::string& gpu, const std::string& reason,
                                  const Words& launcher = {}) {
    const Finished finished = run(gpu, gpu + ".h5", "gpu", {}, launcher);
    EXPECT_EQ(finished.status, 1) << reason;
    EXPECT_THAT(finished.err, HasSubstr(reason));
  };
  expect_failure("2", "gpu Fake GPU is given up");
  expect_failure("3",
                 "GPU 0 (Fake GPU, GPU-fake-3) cannot be used: the fake GPU does not know the "
                 "known answer; --device cpu");
  expect_failure("0", "gets no GPU of its own (1 usable for the 2 workers there)", three_ranks);
}

TEST_F(FakeGpuRun, fails_if_a_plan_is_too_large_for_the_only_gpu) {
  save_floor_plan(directory_.path(), "large", with_fault(room(20, 30), GpuFault::too_large));
  const Finished alone = run("1", "alone.h5", "gpu", {"large"});
  EXPECT_EQ(alone.status, 3) << alone.err;
  EXPECT_THAT(ResultReader(path("alone.h5")).rows().front().error,
              HasSubstr("too large for the fake GPU"));
}

TEST_F(FakeGpuRun, has_all_queues_of_a_gpu_unless_the_user_wants_others) {
  for (const std::string wanted : {"", "4"}) {
    Words words{"WALLHEAT_FAKE_GPU_QUEUES=" + path("queues")};
    if (!wanted.empty()) words.push_back("CUDA_DEVICE_MAX_CONNECTIONS=" + wanted);
    ASSERT_EQ(run("0", "x" + wanted + ".h5", "gpu", {}, words).status, 0);
    EXPECT_EQ(file_text(path("queues")), wanted.empty() ? "32" : wanted);
  }
}

}  // namespace
}  // namespace wallheat
