#include <gmock/gmock.h>

#include <fstream>

#include "support/temporary_directory.hpp"
#include "wallheat/error.hpp"
#include "wallheat/plan_ids.hpp"

namespace wallheat {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

class IdsFile : public testing::Test {
 protected:
  PlanIds read(const std::string& content) {
    std::ofstream(directory_ / "ids.txt", std::ios::binary) << content;
    return read_ids(directory_ / "ids.txt");
  }
  TemporaryDirectory directory_;
};

TEST_F(IdsFile, keeps_the_order_of_its_lines) {
  EXPECT_THAT(read("9\n10\n2").ids, ElementsAre("9", "10", "2"));
}

TEST_F(IdsFile, may_have_blank_lines_carriage_returns_and_spaces_around_ids) {
  EXPECT_THAT(read("\r\n1\r\n\r\n  2 \n\n\t3\t\r\n").ids, ElementsAre("1", "2", "3"));
}

TEST_F(IdsFile, may_begin_with_a_byte_order_mark) {
  EXPECT_THAT(read("\xEF\xBB\xBF"
                   "1\n2\n")
                  .ids,
              ElementsAre("1", "2"));
}

TEST_F(IdsFile, counts_a_repeated_id_once_and_says_so) {
  const PlanIds plans = read("1\n2\n1\n3\n1\n");
  EXPECT_THAT(plans.ids, ElementsAre("1", "2", "3"));
  EXPECT_THAT(plans.duplicates, ElementsAre("1", "1"));
}

TEST_F(IdsFile, must_name_a_plan) {
  EXPECT_THROW((void)read(""), RunError);
  EXPECT_THROW((void)read("\n \r\n"), RunError);
}

TEST_F(IdsFile, must_exist) {
  EXPECT_THROW((void)read_ids(directory_ / "none.txt"), RunError);
  EXPECT_THROW((void)read_ids(directory_.path()), RunError);
}

TEST_F(IdsFile, cannot_hold_an_id_that_the_result_file_cannot) {
  EXPECT_EQ(read(std::string(max_id_length, 'x')).ids.size(), 1U);
  EXPECT_THROW((void)read(std::string(max_id_length + 1, 'x')), RunError);
}

TEST(PlanId, must_not_lead_out_of_the_directory) {
  for (const std::string id : {"../1", "a/b", "/etc/passwd", "..", "", "a\nb", "a\x7f"}) {
    EXPECT_THROW(check_id(id), InputError) << id;
  }
  for (const std::string id : {"10000", "house 7", "Gebäude-3", "a.b", "-1"})
    EXPECT_NO_THROW(check_id(id)) << id;
}

}  // namespace
}  // namespace wallheat
