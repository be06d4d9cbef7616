#include <spdlog/sinks/ostream_sink.h>
#include <sys/stat.h>

#include <cmath>
#include <fstream>
#include <iterator>
#include <sstream>

#include "core/codec.hpp"
#include "io/files.hpp"
#include "monitor/run_status.hpp"
#include "store/result_file_names.hpp"
#include "support/error_message.hpp"
#include "support/matchers.hpp"
#include "support/process.hpp"
#include "support/temporary_directory.hpp"
#include "view/terminal.hpp"
#include "wallheat/error.hpp"

namespace wallheat {
namespace {

RunStatus full_status() {
  RunStatus status;
  status.started_utc = "2030-01-02T03:04:05.678Z";
  status.written_utc = "2030-01-02T04:04:05.678Z";
  status.state = "draining";
  status.host = "node1";
  status.total = 100;
  status.restored = 10;
  status.solved = 20;
  status.failed = 3;
  status.running = 2;
  status.left = 67;
  status.plans_per_s = 12.25;
  status.seconds_left = 5.5;
  status.workers = {
      {1, "node1", "cpu avx2", 8, 15, 0.25, "working", {{"0007", 512, 0.125, 3.5}, {"a\xff", 0}}},
      {2, "node2", "cpu avx512", 4, 8, 31.5, "lost", {}},
      {3, "node2", "gpu", 1, 80, 0.5, "idle", {}, GpuSample{.power_w = 512.5}}};
  status.worker_states = {{"working", 1}, {"lost", 1}, {"idle", 1}};
  return status;
}

TEST(RunStatus, RoundTripsThroughFile) {
  const TemporaryDirectory directory;
  const auto path = directory / "results.h5.status";
  write_run_status(path, full_status());
  const RunStatus copy = read_run_status(path).value();
  EXPECT_EQ(status_json(copy), status_json(full_status()));
  EXPECT_EQ(copy.worker_states.at("lost"), 1U);
  EXPECT_EQ(copy.seconds_left, 5.5);
  ASSERT_EQ(copy.workers.size(), 3U);
  EXPECT_EQ(copy.workers[0].running[0].delta, 0.125);
  EXPECT_THAT(copy.workers[0].running[1].id, StartsWith("a")) << "the ID is not valid UTF-8";
  EXPECT_TRUE(std::isnan(copy.workers[0].running[1].delta));
  EXPECT_EQ(copy.workers[1].last_heard_s, 31.5);
  EXPECT_FALSE(copy.workers[1].gpu);
  EXPECT_EQ(copy.workers[2].gpu.value().power_w, 512.5);
  EXPECT_TRUE(std::isnan(copy.workers[2].gpu->utilisation_pct));
}

TEST(RunStatus, ReplacesFileAtomically) {
  const TemporaryDirectory directory;
  const auto path = directory / "results.h5.status";
  write_run_status(path, full_status());
  std::ifstream reader(path);  // another process reads the old file meanwhile
  RunStatus next = full_status();
  next.solved = 21;
  write_run_status(path, next);
  EXPECT_EQ(std::string(std::istreambuf_iterator<char>(reader), {}), status_json(full_status()));
  EXPECT_EQ(read_run_status(path)->solved, 21U);
  remove_run_status(path);
  remove_run_status(path);
  EXPECT_TRUE(std::filesystem::is_empty(directory.path()));
  EXPECT_EQ(read_run_status(path), std::nullopt);
}

TEST(RunStatus, IgnoresInvalidOrUnknownFields) {
  const RunStatus read = run_status_from_json(R"({
    "state": "running", "new": {"a": [1]}, "total": 7, "solved": -1, "failed": 1.5, "left": 1e300,
    "running": "2", "restored": true, "plans_per_s": [], "seconds_left": null,
    "worker_states": {"working": 2, "idle": 1e300},
    "workers": [{"rank": 9223372036854775808, "host": "node1", "gpu": {"power_w": "much"}}, 5]})");
  EXPECT_EQ(read.state, "running");
  EXPECT_EQ(read.total, 7U);
  EXPECT_EQ(read.solved + read.failed + read.left + read.running + read.restored, 0U);
  EXPECT_EQ(read.seconds_left, std::nullopt);
  for (const char* unknown : {"{}", "{\"exit_status\": \"0\"}", "{\"exit_status\": null}"})
    EXPECT_LT(run_status_from_json(unknown).exit_status, 0) << unknown;
  EXPECT_EQ(read.worker_states.at("working"), 2U);
  ASSERT_EQ(read.workers.size(), 2U);
  EXPECT_EQ(read.workers[0].rank, 0);
  EXPECT_EQ(read.workers[0].host, "node1");
  for (const char* damaged : {"", "{\"state\": \"runn", "5", "[]"})
    EXPECT_THROW((void)run_status_from_json(damaged), DecodeError) << damaged;
}

TEST(RunStatus, KeepsFilesThatWallheatDidNotWrite) {
  const TemporaryDirectory directory;
  const auto path = directory / "results.h5.status";
  const auto precious = directory / "precious";
  std::ofstream(precious) << "do not touch";
  const std::vector<std::pair<std::function<void()>, std::string>> plants{
      {[&] { std::ofstream(path) << "my notes about these results"; }, "status file"},
      {[&] { std::ofstream(path) << R"({"started_utc": "", "written_utc": ""})"; }, "status file"},
      {[&] { std::filesystem::create_symlink(precious, path); }, "link"},
      {[&] { ASSERT_EQ(::mkfifo(path.c_str(), 0666), 0); }, "pipe"}};
  for (const auto& [plant, kind] : plants) {
    plant();
    const auto type = std::filesystem::symlink_status(path).type();
    const auto size = type == std::filesystem::file_type::regular ? file_size(path) : 0;
    EXPECT_THAT(error_message_of<RunError>([&] { require_own_status(path); }),
                Mentions({path.string(), kind}));
    EXPECT_THAT(error_message_of<RunError>([&] { write_run_status(path, full_status()); }),
                Mentions({path.string(), kind}));
    (void)error_message_of<RunError>([&] { remove_run_status(path); });
    EXPECT_EQ(std::filesystem::symlink_status(path).type(), type) << kind;
    EXPECT_TRUE(size == 0 || file_size(path) == size);
    std::filesystem::remove(path);
  }
  EXPECT_EQ(file_text(precious), "do not touch");
}

TEST(RunStatus, ReplacesFileTornByPowerLoss) {
  const TemporaryDirectory directory;
  const auto path = directory / "results.h5.status";
  for (const auto& torn :
       {std::string(), std::string(700, '\0'), status_json(full_status()).substr(0, 200)}) {
    std::ofstream(path) << torn;
    write_run_status(path, full_status());
    EXPECT_EQ(read_run_status(path).value().total, 100U);
    std::ofstream(path) << torn;
    remove_run_status(path);
    EXPECT_FALSE(std::filesystem::exists(path));
  }
}

TEST(RunStatus, RemovesTemporaryFilesOfKilledRuns) {
  const TemporaryDirectory directory;
  const auto path = directory / "results.h5.status";
  std::ofstream(new_temporary_path(path)) << "{";
  std::ofstream(path.string() + ".new") << "a file of the user";
  remove_run_status(path);
  EXPECT_TRUE(std::filesystem::exists(path.string() + ".new"));
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(directory.path()), {}), 1);
}

TEST(RunStatus, NamesFileThatCannotBeReadOrWritten) {
  const TemporaryDirectory directory;
  const auto path = directory / "results.h5.status";
  const auto error_message = [&] {
    return error_message_of<RunError>([&] { (void)read_run_status(path); });
  };
  ASSERT_EQ(::mkfifo(path.c_str(), 0666), 0);
  EXPECT_THAT(error_message(), Mentions({"results.h5.status", "pipe"}));
  std::filesystem::remove(path);
  std::filesystem::create_symlink("/dev/zero", path);
  EXPECT_THAT(error_message(), Mentions({"results.h5.status", "link"}));
  EXPECT_THAT(error_message_of<RunError>([&] {
                write_run_status(directory / "none" / "results.h5.status", full_status());
              }),
              Mentions({"results.h5.status", "No such file"}));
}

TEST(LiveStatus, KeepsWritingAfterFailedWrite) {
  const TemporaryDirectory directory;
  const auto file = directory / "later" / "results.h5.status";
  std::ostringstream messages;
  Log log({std::make_shared<spdlog::sinks::ostream_sink_mt>(messages)}, LogLevel::warn);
  LiveStatus live(file, log);
  RunStatus status;
  status.state = "starting";
  live.write(status);
  live.stop_publishing();
  EXPECT_THAT(messages.str(), Mentions({"results.h5.status", "No such file"}));
  std::filesystem::create_directory(file.parent_path());
  live.publish_periodically(status);
  const auto is_written_after = [&](const std::string& before) {
    const auto written = read_run_status(file);
    return written && written->written_utc > before;
  };
  wait_until("a heartbeat", [&] { return is_written_after(""); });
  const std::string first = read_run_status(file)->written_utc;
  wait_until("another heartbeat", [&] { return is_written_after(first); });
  status.state = "running";
  live.write(status);
  live.stop_publishing();
  EXPECT_EQ(read_run_status(file)->state, "running") << "the last status is written";
}

}  // namespace
}  // namespace wallheat
