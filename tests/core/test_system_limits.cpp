#include <sys/resource.h>

#include <cerrno>
#include <filesystem>
#include <new>
#include <stdexcept>
#include <system_error>

#include "core/system_limits.hpp"
#include "support/matchers.hpp"

namespace wallheat {
namespace {

TEST(SystemLimits, NamesLimitAndItsValue) {
  rlimit files{};
  ASSERT_EQ(::getrlimit(RLIMIT_NOFILE, &files), 0);
  EXPECT_THAT(system_error_text(EMFILE),
              Mentions({"Too many open files", std::to_string(files.rlim_cur), "ulimit -n"}));
  EXPECT_THAT(system_error_text(ENFILE), Mentions({"Too many open files", "fs.file-max"}));
  EXPECT_THAT(system_error_text(EDQUOT), Mentions({"quota -s"}));
  EXPECT_THAT(system_error_text(EAGAIN), Mentions({"ulimit -u", "pids.max"}));
  EXPECT_EQ(limit_note(EACCES), "");
}

TEST(SystemLimits, DescribesExceptionsOfTheStandardLibrary) {
  EXPECT_THAT(exception_text(std::bad_alloc()), StartsWith("not enough memory"));
  const std::system_error no_thread(
      std::make_error_code(std::errc::resource_unavailable_try_again));
  EXPECT_THAT(exception_text(no_thread), Mentions({"thread", "ulimit -u"}));
  EXPECT_EQ(exception_text(std::runtime_error("disk full")), "disk full");
  const auto file_error = [](const std::filesystem::path& path, int code) {
    return exception_text(std::filesystem::filesystem_error(
        "status", path, std::error_code(code, std::generic_category())));
  };
  EXPECT_THAT(
      file_error("plans/spacing.txt", EACCES),
      AllOf(StartsWith("plans/spacing.txt "), Mentions({"Permission denied", "directories"}),
            Not(HasSubstr("filesystem error")), Not(HasSubstr("["))));
  EXPECT_THAT(file_error("", EMFILE), Mentions({"directory", "Too many open files", "ulimit -n"}));
}

TEST(SystemLimits, RecognizesExhaustedResourceInError) {
  using enum ExhaustedResource;
  const auto killed = [](const char* reason) {
    return exhausted_resource(std::string("its solver process was killed by SIGKILL ") + reason);
  };
  EXPECT_EQ(killed(by_out_of_memory_killer), memory);
  EXPECT_EQ(killed(at_processor_time_limit), processor_time);
  EXPECT_EQ(killed("from outside (the kernel's out-of-memory killer killed no process)"), none);
  EXPECT_EQ(exhausted_resource(exception_text(std::bad_alloc())), memory);
  EXPECT_EQ(exhausted_resource("plan 7: a wall is missing"), none);
}

}  // namespace
}  // namespace wallheat
