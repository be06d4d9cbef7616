#include <sys/stat.h>

#include <cmath>
#include <fstream>
#include <iterator>

#include "core/bytes.hpp"
#include "support/matchers.hpp"
#include "support/process.hpp"
#include "support/refusal.hpp"
#include "support/temporary_directory.hpp"
#include "view/run_status.hpp"
#include "wallheat/error.hpp"

namespace wallheat {
namespace {

RunStatus full_status() {
  RunStatus status;
  status.file = "out dir/results.h5";
  status.started_utc = "2030-01-02T03:04:05.678Z";
  status.written_utc = "2030-01-02T04:04:05.678Z";
  status.state = "draining";
  status.host = "node1";
  status.pid = 4711;
  status.total = 100;
  status.restored = 10;
  status.solved = 20;
  status.failed = 3;
  status.left = 67;
  status.plans_per_s = 12.25;
  status.seconds_left = 5.5;
  status.shard = "2/4";
  status.workers = {
      {1, "node1", "cpu avx2", 8, 15, 0.25, "working", {{"0007", 512, 0.125, 3.5}, {"0008", 0}}},
      {2, "node2", "cpu avx512", 4, 8, 31.5, "lost", {}},
      {3, "node2", "gpu", 1, 80, 0.5, "idle", {}, GpuSample{.power_w = 512.5}}};
  return status;
}

TEST(RunStatus, comes_through_its_file_unchanged) {
  const TemporaryDirectory directory;
  const auto path = directory / "results.h5.status";
  write_run_status(path, full_status());
  const RunStatus copy = read_run_status(path).value();
  EXPECT_EQ(to_json_text(copy), to_json_text(full_status()));
  EXPECT_EQ(copy.shard, "2/4");
  EXPECT_EQ(copy.seconds_left, 5.5);
  ASSERT_EQ(copy.workers.size(), 3U);
  EXPECT_EQ(copy.workers[0].running[0].delta, 0.125);
  EXPECT_TRUE(std::isnan(copy.workers[0].running[1].delta));
  EXPECT_EQ(copy.workers[1].last_heard_s, 31.5);
  EXPECT_FALSE(copy.workers[1].gpu);
  EXPECT_EQ(copy.workers[2].gpu.value().power_w, 512.5);
  EXPECT_TRUE(std::isnan(copy.workers[2].gpu->utilisation_pct));
}

TEST(RunStatus, says_nothing_of_the_time_left_where_it_is_unknown) {
  RunStatus status = full_status();
  status.seconds_left.reset();
  EXPECT_THAT(to_json_text(status), Not(HasSubstr("seconds_left")));
  EXPECT_EQ(run_status_from_json(to_json_text(status)).seconds_left, std::nullopt);
  status.seconds_left = std::nan("");
  EXPECT_EQ(run_status_from_json(to_json_text(status)).seconds_left, std::nullopt);
}

TEST(RunStatus, replaces_its_file_in_one_step_and_leaves_nothing_beside_it) {
  const TemporaryDirectory directory;
  const auto path = directory / "results.h5.status";
  write_run_status(path, full_status());
  std::ifstream reader(path);  // someone reads the old one meanwhile
  RunStatus next = full_status();
  next.solved = 21;
  write_run_status(path, next);
  std::ostringstream old;
  old << reader.rdbuf();
  EXPECT_EQ(old.str(), to_json_text(full_status()));
  EXPECT_EQ(read_run_status(path)->solved, 21U);
  remove_run_status(path);
  remove_run_status(path);
  EXPECT_TRUE(std::filesystem::is_empty(directory.path()));
  EXPECT_EQ(read_run_status(path), std::nullopt);
}

TEST(RunStatus, is_refused_where_a_count_is_no_whole_number_in_its_range) {
  const std::string text = to_json_text(full_status());
  const auto begin = text.find("\"pid\": ") + 7;
  const auto end = text.find(',', begin);
  ASSERT_LT(begin, end);
  for (const std::string wrong : {"1e300", "1.5", "9223372036854775808", "\"7\"", "true"}) {
    std::string changed = text;
    changed.replace(begin, end - begin, wrong);
    EXPECT_THROW((void)run_status_from_json(changed), DecodeError) << wrong;
  }
}

TEST(RunStatus, keeps_a_plan_whose_name_is_not_text) {
  RunStatus status = full_status();
  status.workers[0].running[0].id = "a\xff";
  EXPECT_THAT(run_status_from_json(to_json_text(status)).workers[0].running[0].id, HasSubstr("a"));
}

TEST(RunStatus, says_which_file_cannot_be_written) {
  const TemporaryDirectory directory;
  EXPECT_THAT(refusal_of<RunError>([&] {
                write_run_status(directory / "none" / "results.h5.status", full_status());
              }),
              AllOf(HasSubstr("results.h5.status"), HasSubstr("No such file")));
}

TEST(RunStatus, is_not_written_through_a_link_that_somebody_planted_and_waits_for_no_pipe) {
  const TemporaryDirectory directory;
  const auto path = directory / "results.h5.status";
  const auto precious = directory / "precious";
  std::ofstream(precious) << "do not touch";
  for (const char* ending : {"", ".new"}) {
    const auto place = path.string() + ending;
    std::filesystem::remove(place);
    std::filesystem::create_symlink(precious, place);
    write_run_status(path, full_status());
    EXPECT_EQ(read_run_status(path).value().pid, 4711);
    std::filesystem::remove(place);
    ASSERT_EQ(::mkfifo(place.c_str(), 0666), 0);
    write_run_status(path, full_status());
    EXPECT_EQ(read_run_status(path).value().pid, 4711);
  }
  std::ifstream in(precious);
  EXPECT_EQ(std::string(std::istreambuf_iterator<char>(in), {}), "do not touch");
  EXPECT_FALSE(std::filesystem::exists(path.string() + ".new"));
}

TEST(RunStatus, is_read_from_a_regular_file_only) {
  const TemporaryDirectory directory;
  const auto path = directory / "results.h5.status";
  EXPECT_FALSE(read_run_status(path));
  const auto refused = [&] { return refusal_of<RunError>([&] { (void)read_run_status(path); }); };
  ASSERT_EQ(::mkfifo(path.c_str(), 0666), 0);
  EXPECT_THAT(refused(), HasSubstr("results.h5.status is a named pipe"));
  std::filesystem::remove(path);
  std::filesystem::create_symlink("/dev/zero", path);
  EXPECT_THAT(refused(), HasSubstr("results.h5.status is a link"));
}

}  // namespace
}  // namespace wallheat
