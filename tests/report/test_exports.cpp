#include <fstream>
#include <sstream>

#include "monitor/gpu_text.hpp"
#include "report/exports.hpp"
#include "support/matchers.hpp"
#include "support/results.hpp"
#include "support/temporary_directory.hpp"
#include "view/json.hpp"

namespace wallheat {
namespace {

/// Stores the result of one plan, all of whose times are the same in each session, and ends as if
/// the process had been killed. Returns the line of the event log.
std::string solve_in_killed_session(const std::filesystem::path& file, const TestPlan& plan,
                                    std::size_t index, OpenMode mode, const std::string& kernel) {
  ResultStore store({file, mode}, plan, {});
  PlanResult result = make_result(plan, index);
  result.seconds = 2;
  result.phases.solve_s = 1;
  store.store({&result, 1});
  const GpuPlanTimes times{
      .upload_s = 0.1, .kernel_s = 0.5, .download_s = 0.1, .wait_s = 0.7, .kernel = kernel};
  return Json{{"time", "2030-01-02T03:04:05.678Z"}, {"event", "result"},
              {"session_id", store.session_id()},   {"id", plan.ids[index]},
              {"seconds", result.seconds},          {"gpu", times}}
             .dump() +
         "\n";
}

TEST(Trace, AttributesGpuTimesToPlansOfKilledSessions) {
  const TemporaryDirectory directory;
  const auto file = directory / "results.h5";
  const TestPlan plan = make_plan(2);
  const std::string discarded =
      solve_in_killed_session(file, plan, 0, OpenMode::create, "discarded kernel");
  const std::string first =
      solve_in_killed_session(file, plan, 0, OpenMode::overwrite, "first kernel");
  const std::string second =
      solve_in_killed_session(file, plan, 1, OpenMode::resume, "second kernel");
  // In any order, because a log may be that of several sessions; a kill ends a line early.
  std::ofstream(directory / "events") << first << second.substr(0, 90) << '\n'
                                      << second << discarded << discarded.substr(0, 90);

  const ResultReader reader(file);
  std::ostringstream out;
  write_trace(reader, read_gpu_times(directory / "events", reader.sessions()), out);
  std::vector<std::string> kernels;
  std::string id;
  const Json trace = Json::parse(out.str());
  for (const auto& event : trace.at("traceEvents")) {
    if (event.contains("cat")) id = event["name"];
    if (event["name"] == "kernel")
      kernels.push_back(id + ": " + event["args"]["kernel"].get<std::string>());
  }
  EXPECT_THAT(kernels,
              testing::UnorderedElementsAre("plan 0: first kernel", "plan 1: second kernel"));
}

TEST(Trace, SkipsGpuTimesOfOtherVersions) {
  const TemporaryDirectory directory;
  const auto file = directory / "results.h5";
  std::string event = solve_in_killed_session(file, make_plan(1), 0, OpenMode::create, "a kernel");
  const std::string last_member = R"(,"block":0)";
  event.erase(event.find(last_member), last_member.size());
  std::ofstream(directory / "events") << event;
  EXPECT_TRUE(read_gpu_times(directory / "events", ResultReader(file).sessions()).front().empty());
}

}  // namespace
}  // namespace wallheat
