#include <unistd.h>

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <sstream>

#include "node/local_machine.hpp"
#include "queue/messages.hpp"
#include "store/result_store.hpp"
#include "support/fake_gpu.hpp"
#include "support/matchers.hpp"
#include "support/process.hpp"
#include "support/shapes.hpp"
#include "support/temporary_directory.hpp"
#include "support/without_times.hpp"
#include "wallheat/error.hpp"
#include "wallheat/floor_plan_files.hpp"

// The whole program with GPUs. They are fakes: see support/fake_gpu.hpp.

namespace wallheat {
namespace {

class FakeGpuRun : public testing::Test {
 protected:
  FakeGpuRun() {
    for (int plan = 0; plan < 24; ++plan) {
      const std::string id = "p" + std::to_string(plan);
      save_floor_plan(directory_.path(), id, room(20 + static_cast<std::size_t>(plan), 30));
      ids_ += id + "\n";
    }
    std::ofstream(directory_ / "building_ids.txt") << ids_;
    ::setenv("WALLHEAT_FAKE_GPU_DIRECTORY", directory_.path().c_str(), 1);
  }
  ~FakeGpuRun() override { ::unsetenv("WALLHEAT_FAKE_GPU_DIRECTORY"); }
  [[nodiscard]] std::string path(const std::string& name) const {
    return (directory_ / name).string();
  }
  /// On few cores wherever the test runs.
  [[nodiscard]] Finished run(std::vector<std::string> words, const std::string& program,
                             const std::string& out, const std::string& device,
                             const std::vector<std::string>& more = {}) const {
    for (const std::string& word :
         {program, std::string("run"), std::string("--data"), directory_.path().string(),
          std::string("--out"), path(out), std::string("--device"), device, std::string("--events"),
          path("events"), std::string("--threads=2")})
      words.push_back(word);
    words.insert(words.end(), more.begin(), more.end());
    const std::vector<Core> cores = local_machine().cores;
    words.insert(words.begin(), {"taskset", "-c",
                                 std::to_string(cores.front().cpu) + "," +
                                     std::to_string(cores[cores.size() / 2].cpu)});
    return run_program(words);
  }
  [[nodiscard]] std::vector<PlanResult> rows(const std::string& file) const {
    std::vector<PlanResult> rows;
    const ResultReader reader(path(file));
    for (const PlanResult& each : reader.rows()) {
      PlanResult row = without_times(each);
      row.rank = 0;
      row.device.clear();
      rows.push_back(row);
    }
    return rows;
  }
  static std::string bytes_of(const PlanResult& row) {
    const Bytes bytes = encode_result(row);
    return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
  }

  TemporaryDirectory directory_;
  std::string ids_;
};

TEST_F(FakeGpuRun, solves_on_gpus_and_cpus_of_a_host_in_one_run) {
  Finished mixed;
  std::string out;
  std::string iterations;
  const auto has_said = [&](const char* words) {
    return mixed.err.find(words) != std::string::npos;
  };
  // One of the two workers may be done before the other is ready; then plans take twice as long.
  for (int doubled = 0;
       doubled < 10 && !(has_said("gpu Fake GPU") && has_said("rank 2: on the CPU")); ++doubled) {
    iterations = "--max-iterations=" + std::to_string(1000 << doubled);
    out = "mixed" + std::to_string(doubled) + ".h5";
    mixed = run({"env", "CUDA_VISIBLE_DEVICES=1", "mpirun", "-n", "3", "--oversubscribe",
                 "--bind-to", "none"},
                WALLHEAT_FAKE_GPUS, out, "auto", {"--tolerance=0", iterations});
    ASSERT_EQ(mixed.status, 0) << mixed.err;
  }
  EXPECT_THAT(mixed.err, testing::ContainsRegex("gpu Fake GPU +4"));
  EXPECT_THAT(mixed.err, HasSubstr("GPU 0: GPU-fake-1, 3 GiB, NUMA node 0"));
  EXPECT_THAT(mixed.err, HasSubstr("rank 2: on the CPU: the others of its host have them all"));
  EXPECT_THAT(file_text(path("events")), HasSubstr("\"uuid\":\"GPU-fake-1\""));
  ASSERT_EQ(run({}, WALLHEAT_PROGRAM, "cpu.h5", "cpu", {"--tolerance=0", iterations}).status, 0);
  const auto expected = rows("cpu.h5");
  const auto found = rows(out);
  ASSERT_EQ(found.size(), expected.size());
  for (std::size_t i = 0; i < found.size(); ++i)
    EXPECT_EQ(bytes_of(found[i]), bytes_of(expected[i])) << found[i].id;
}

TEST_F(FakeGpuRun, is_told_what_its_gpus_are) {
  const Finished shown =
      run_program({"env", "CUDA_VISIBLE_DEVICES=1", WALLHEAT_FAKE_GPUS, "devices", "--json"});
  ASSERT_EQ(shown.status, 0) << shown.err;
  const auto report = nlohmann::json::parse(shown.out);
  ASSERT_EQ(report["gpus"].size(), 1U);
  const auto& gpu = report["gpus"][0];
  EXPECT_EQ(gpu["uuid"], "GPU-fake-1");
  EXPECT_EQ(gpu["compute_capability"], "9.0");
  EXPECT_GT(report["solvers"][2]["plans_per_s"], report["solvers"][0]["plans_per_s"]);
  EXPECT_EQ(report["cores"], local_machine().cores.size());
  EXPECT_TRUE(report["no_gpu"].is_null());
  EXPECT_EQ(gpu["multiprocessors"], 132);
  EXPECT_EQ(gpu["memory_tb_per_s"], 4.8);
}

TEST_F(FakeGpuRun, tells_where_the_time_of_plans_on_gpus_went) {
  const Finished finished =
      run({"env", "CUDA_VISIBLE_DEVICES=0"}, WALLHEAT_FAKE_GPUS, "x.h5", "gpu");
  ASSERT_EQ(finished.status, 0) << finished.err;
  EXPECT_THAT(finished.err, HasSubstr("threads were at plans on GPUs: kernels "));
  const std::string kernel = "fake kernel        24      0.000     0.005     0.005       0.005";
  EXPECT_THAT(finished.err, HasSubstr(kernel));
  const Finished summary = run_program({WALLHEAT_PROGRAM, "summary", path("x.h5")});
  EXPECT_THAT(summary.out, AllOf(HasSubstr("where the time of plans on GPUs went\n"),
                                 HasSubstr("waiting for the driver"), HasSubstr(kernel)));
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

  ASSERT_EQ(run({}, WALLHEAT_PROGRAM, "cpu.h5", "cpu").status, 0);
  ASSERT_EQ(
      run_program({WALLHEAT_PROGRAM, "summary", path("x.h5"), "--page", path("gpu.html")}).status,
      0);
  EXPECT_THAT(file_text(path("gpu.html")), HasSubstr(kernel));

  const auto compared = nlohmann::json::parse(
      run_program({WALLHEAT_PROGRAM, "compare", path("cpu.h5"), path("x.h5"), "--json"}).out);
  double sum = 0;
  std::map<std::string, double> with_gpu;
  std::map<std::string, double> without;
  for (const auto& row : compared["thread_time"]) {
    without[row["name"]] = row["seconds_1"];
    sum += with_gpu[row["name"]] = row["seconds_2"];
  }
  EXPECT_GT(with_gpu["solving on GPUs: the host's work"], 0);
  EXPECT_EQ(without["solving on GPUs: the host's work"], 0);
  EXPECT_NEAR(sum, 2 * with_gpu["all threads"], 0.01);
}

TEST_F(FakeGpuRun, takes_the_gpu_for_any_plans_of_jacobi) {
  const auto device = [&](const std::string& id, const std::vector<std::string>& more) {
    std::ofstream(directory_ / "building_ids.txt") << id << "\n";
    const std::string out = id + std::to_string(more.size()) + ".h5";
    const Finished finished =
        run({"env", "CUDA_VISIBLE_DEVICES=0"}, WALLHEAT_FAKE_GPUS, out, "auto", more);
    EXPECT_EQ(finished.status, 0) << finished.err;
    return ResultReader(path(out)).rows().front().device;
  };
  save_floor_plan(directory_.path(), "small", room(20, 30));
  EXPECT_EQ(device("small", {}), "gpu Fake GPU");
  FloorPlan heated = room(20, 30);
  heated.source = Grid<double>(20, 30, 1.0);
  save_floor_plan(directory_.path(), "heated", heated);
  EXPECT_EQ(device("heated", {"--spacing=0.05"}), "gpu Fake GPU");
  EXPECT_THAT(device("small", {"--solver=steady"}), testing::StartsWith("cpu "));
}

TEST_F(FakeGpuRun, says_beforehand_who_will_solve_and_why) {
  const auto device = [&](std::vector<std::string> words) {
    words.insert(words.begin(), {WALLHEAT_FAKE_GPUS, "run", "--data", directory_.path().string(),
                                 "--out", path("x.h5"), "--check", "--json", "--threads=2"});
    const Finished finished = run_program(words);
    EXPECT_EQ(finished.status, 0) << finished.err;
    return nlohmann::json::parse(finished.out)["facts"].value("device", "");
  };
  EXPECT_EQ(device({}), "4 GPUs: Fake GPU");
  EXPECT_EQ(device({"--solver=steady"}), "the CPU: GPUs do not have the solver steady");
  EXPECT_EQ(device({"--device=cpu"}), "");
}

TEST_F(FakeGpuRun, solves_on_all_gpus_in_one_process) {
  // Two of the four are broken, and leave. One of the others may be ready only when nothing is left
  // for it; then plans take twice as long.
  const auto has_used = [&](const std::string& gpu) {
    return file_text(path("events")).find(gpu) != std::string::npos;
  };
  for (int doubled = 0; doubled < 10; ++doubled) {
    const std::string out = std::to_string(doubled) + ".h5";
    const Finished finished =
        run({}, WALLHEAT_FAKE_GPUS, out, "gpu",
            {"--tolerance=0", "--max-iterations=" + std::to_string(1000 << doubled)});
    ASSERT_EQ(finished.status, 0) << finished.err;
    const ResultReader reader(path(out));
    EXPECT_THAT(reader.rows(),
                Each(testing::Field(&PlanResult::status, PlanStatus::max_iterations)));
    if (has_used("GPU-fake-0") && has_used("GPU-fake-1")) return;
  }
  ADD_FAILURE() << file_text(path("events"));
}

TEST_F(FakeGpuRun, goes_on_with_the_cpu_when_its_only_gpu_is_broken) {
  ASSERT_EQ(run({}, WALLHEAT_PROGRAM, "cpu.h5", "cpu").status, 0);
  for (const char* gpu : {"2", "3"}) {  // one that fails at work, and one that cannot be opened
    const std::string visible = std::string("CUDA_VISIBLE_DEVICES=") + gpu;
    const std::string out = std::string("gpu") + gpu + ".h5";
    const Finished finished = run({"env", visible}, WALLHEAT_FAKE_GPUS, out, "auto");
    EXPECT_EQ(finished.status, 0) << finished.err;
    EXPECT_THAT(finished.err, HasSubstr("on the CPU"));
    const auto expected = rows("cpu.h5");
    const auto found = rows(out);
    ASSERT_EQ(found.size(), expected.size());
    for (std::size_t i = 0; i < found.size(); ++i) {
      EXPECT_EQ(found[i].status, expected[i].status) << found[i].error;
      EXPECT_EQ(found[i].last_delta, expected[i].last_delta);
    }
    const ResultReader reader(path(out));
    for (const PlanResult& row : reader.rows()) {
      EXPECT_THAT(row.device, testing::StartsWith("cpu "));
      EXPECT_THAT(row.device, HasSubstr("in place of a failed GPU"));
    }
  }
}

TEST_F(FakeGpuRun, ends_with_the_reason_if_a_gpu_that_it_must_use_is_broken_or_missing) {
  const std::vector<std::string> ranks{"mpirun", "-n", "3", "--oversubscribe", "--bind-to", "none"};
  for (const auto& [gpu, launcher, sentence] :
       std::vector<std::tuple<std::string, std::vector<std::string>, std::string>>{
           {"2", {}, "gpu Fake GPU is given up"},
           {"3",
            {},
            "GPU 0 (Fake GPU, GPU-fake-3) cannot be used: the fake GPU does not know the "
            "known answer; --device cpu"},
           {"0", ranks, "gets no GPU of its own (1 usable for the 2 workers there)"}}) {
    std::vector<std::string> words{"env", "CUDA_VISIBLE_DEVICES=" + gpu};
    words.insert(words.end(), launcher.begin(), launcher.end());
    const Finished finished = run(words, WALLHEAT_FAKE_GPUS, gpu + ".h5", "gpu");
    EXPECT_EQ(finished.status, 1) << sentence;
    EXPECT_THAT(finished.err, HasSubstr(sentence));
  }
}

TEST_F(FakeGpuRun, solves_on_the_cpu_what_is_too_large_for_a_gpu) {
  std::string ids;
  for (int plan = 0; plan < 8; ++plan) {
    const std::string id = "large" + std::to_string(plan);
    save_floor_plan(directory_.path(), id, with_fault(room(20, 30), GpuFault::too_large, plan));
    ids += id + "\n";
  }
  std::ofstream(directory_ / "building_ids.txt") << ids;
  const Finished mixed = run({"env", "CUDA_VISIBLE_DEVICES=1", "mpirun", "-n", "3",
                              "--oversubscribe", "--bind-to", "none"},
                             WALLHEAT_FAKE_GPUS, "mixed.h5", "auto");
  EXPECT_EQ(mixed.status, 0) << mixed.err;
  const Finished alone =
      run({"env", "CUDA_VISIBLE_DEVICES=1"}, WALLHEAT_FAKE_GPUS, "alone.h5", "gpu");
  EXPECT_EQ(alone.status, 3) << alone.err;
  EXPECT_THAT(ResultReader(path("alone.h5")).rows().front().error,
              HasSubstr("too large for the fake GPU"));
}

TEST_F(FakeGpuRun, has_all_queues_of_a_gpu_unless_the_user_wants_others) {
  for (const char* wanted : {"", "4"}) {
    std::vector<std::string> words{"env", "CUDA_VISIBLE_DEVICES=0",
                                   "WALLHEAT_FAKE_GPU_QUEUES=" + path("queues")};
    if (*wanted != '\0') words.push_back(std::string("CUDA_DEVICE_MAX_CONNECTIONS=") + wanted);
    ASSERT_EQ(run(words, WALLHEAT_FAKE_GPUS, std::string("x") + wanted + ".h5", "gpu").status, 0);
    EXPECT_EQ(file_text(path("queues")), *wanted == '\0' ? "32" : wanted);
  }
}

}  // namespace
}  // namespace wallheat
