#include <sys/stat.h>

#include <fstream>
#include <string>

#include "isolation/command_process.hpp"
#include "support/matchers.hpp"
#include "support/temporary_directory.hpp"

namespace wallheat {
namespace {

TEST(CommandProcessTest, TakesNoReplyFromWhatFollowsTooLongLine) {
  const TemporaryDirectory directory;
  const std::string fifo = directory / "fifo";
  ASSERT_EQ(::mkfifo(fifo.c_str(), S_IRUSR | S_IWUSR), 0);
  // The last two lines fill the pipe twice, so everything before them has been read when the
  // program opens the FIFO.
  CommandProcess process({{"sh", "-c",
                           "echo '{\"ready\": true}'\n"
                           "line() { head -c \"$1\" /dev/zero | tr '\\0' x; }\n"
                           "line 100000; echo\n"
                           "echo '{\"done\": true}'\n"
                           "line 65536\n"
                           "line 65536\n"
                           "echo > \"$0\"\n"
                           "read -r request",
                           fifo}});
  EXPECT_EQ(process.receive(), "{\"ready\": true}");
  std::string all_is_read;
  std::getline(std::ifstream(fifo), all_is_read);
  EXPECT_THAT([&] { (void)process.receive(); },
              testing::ThrowsMessage<BrokenProgram>(Mentions("65536")));
}

}  // namespace
}  // namespace wallheat
