#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <fstream>
#include <functional>

#include "core/plan_ids.hpp"
#include "support/error_message.hpp"
#include "support/matchers.hpp"
#include "support/temporary_directory.hpp"
#include "wallheat/error.hpp"

namespace wallheat {
namespace {

class IdsFileTest : public testing::Test {
 protected:
  PlanIds read(const std::string& content) {
    std::ofstream(directory_ / "ids.txt", std::ios::binary) << content;
    return read_ids(directory_ / "ids.txt");
  }
  TemporaryDirectory directory_;
};

TEST_F(IdsFileTest, ListsPlansInLineOrder) {
  EXPECT_THAT(read("9\n10\n2").ids, ElementsAre("9", "10", "2"));
  EXPECT_THAT(read("\r\n1\r\n\r\n  2 \n\n\t3\t\r\n").ids, ElementsAre("1", "2", "3"));
  EXPECT_THAT(read("\xEF\xBB\xBF# the tower\n1\n  #2\nhouse #7\n").ids,
              ElementsAre("1", "house #7"));
  const std::string longest(max_id_length, 'x');
  EXPECT_THAT(read(longest + "\n" + longest + "x\n").ids, ElementsAre(longest, longest + "x"))
      << "a plan whose ID is too long fails later, alone";
  const PlanIds plans = read("1\n2\n1\n3\n1\n");
  EXPECT_THAT(plans.ids, ElementsAre("1", "2", "3"));
  EXPECT_THAT(plans.duplicates, ElementsAre("1", "1"));
  for (const char* nothing : {"", "\n \r\n", "# nothing else\n"})
    EXPECT_THROW((void)read(nothing), RunError);
  EXPECT_THAT(error_message_of<RunError>([&] {
                (void)read(
                    std::string("\xFF\xFE"
                                "1\0",
                                4));
              }),
              Mentions({"ids.txt", "UTF-16", "UTF-8"}));
  EXPECT_THROW((void)read_ids(directory_ / "none.txt"), RunError);
  EXPECT_THROW((void)read_ids(directory_.path()), RunError);
}

TEST_F(IdsFileTest, RejectsSpecialFilesExceptShellPipes) {
  const auto pipe = directory_ / "building_ids.txt";
  ASSERT_EQ(::mkfifo(pipe.c_str(), 0666), 0);
  for (const std::filesystem::path& file : {pipe, std::filesystem::path("/dev/zero")})
    EXPECT_THAT(error_message_of<RunError>([&] { (void)read_ids(file); }),
                Mentions({file.string(), "named pipe"}));
  int ends[2];
  ASSERT_EQ(::pipe(ends), 0);
  ASSERT_EQ(::write(ends[1], "4\n2\n", 4), 4);
  ::close(ends[1]);
  EXPECT_THAT(read_ids("/dev/fd/" + std::to_string(ends[0])).ids, ElementsAre("4", "2"));
  ::close(ends[0]);
}

TEST(NaturalOrder, ComparesDigitsAsNumbers) {
  EXPECT_TRUE(natural_less("9", "10"));
  EXPECT_TRUE(natural_less("b2", "b10a"));
  EXPECT_TRUE(natural_less("b", "b0"));
  EXPECT_TRUE(natural_less("99999999999999999999", "100000000000000000000"));
  for (const char* most : {"9223372036854775807", "18446744073709551615"})  // of 64 bits
    EXPECT_TRUE(natural_less(most, "18446744073709551616"));
  EXPECT_TRUE(natural_less("01", "1")) << "leading zeros decide between equal numbers";
  EXPECT_FALSE(natural_less("1", "01"));
  EXPECT_FALSE(natural_less("000", "000"));
  EXPECT_TRUE(natural_less("1-2", "1-10"));
}

TEST(PlanId, RejectsUnsafeOrOverlongIds) {
  const std::string longest(max_id_length, 'x');
  for (const std::string& id : std::vector<std::string>{"../1", "a/b", "/etc/passwd", "..", "",
                                                        "a\nb", "a\x7f", longest + "x"})
    EXPECT_THROW(require_valid_id(id), InputError) << id;
  for (const std::string& id : std::vector<std::string>{"10000", "Gebäude-3", "a.b", "-1", longest})
    EXPECT_NO_THROW(require_valid_id(id)) << id;
}

TEST(IdIndex, FindsEachOfManyIds) {
  const std::size_t count = 10'000;
  const auto sorted = [](std::size_t i) { return std::to_string(100'000'000 + i * i); };
  const auto unsorted = [](std::size_t i) { return std::to_string(i * i); };
  for (const auto& name : std::vector<std::function<std::string(std::size_t)>>{sorted, unsorted}) {
    IdIndex ids;
    EXPECT_EQ(ids.find("0"), std::nullopt);
    for (std::size_t i = 0; i < count; ++i) EXPECT_TRUE(ids.add(name(i)));
    for (std::size_t i = 0; i < count; ++i) {
      EXPECT_EQ(ids[i], name(i));
      EXPECT_EQ(ids.find(name(i)), i);
    }
    for (const char* other : {"", "2", "100000002", "999999999"})
      EXPECT_EQ(ids.find(other), std::nullopt);
    EXPECT_FALSE(ids.add(name(9)));
    EXPECT_EQ(ids.find(name(9)), 9U);
    EXPECT_EQ(ids.size(), count);
  }
}

TEST(StringList, KeepsCopiesUnchangedWhenAppended) {
  StringList list{"a", "", "bc"};
  const StringList copy = list;
  EXPECT_EQ(list, copy);
  list.push_back("d");
  EXPECT_THAT(list, ElementsAre("a", "", "bc", "d"));
  EXPECT_THAT(copy, ElementsAre("a", "", "bc"));
  EXPECT_EQ(list.first(3), copy);
  EXPECT_EQ(list.first(9), list);
  EXPECT_NE(copy, (StringList{"a", "b", "c"})) << "the same characters";
  EXPECT_NE(copy, StringList());
  EXPECT_EQ(StringList(), copy.first(0));
}

}  // namespace
}  // namespace wallheat
