#include <fcntl.h>

#include <iterator>
#include <regex>
#include <sstream>

#include "store/result_file.hpp"
#include "store_fixture.hpp"

// Contents that must not change without a new format version: files of an earlier build (see
// tests/data/README.md) and the column table in the README.
namespace wallheat::store_test {
namespace {

const std::filesystem::path data = WALLHEAT_TEST_DATA;

class FormatCompatibilityTest : public StoreTest {
 protected:
  FormatCompatibilityTest() {
    for (const char* name : {"fields.h5", "killed.h5", "killed.h5.wal0"})
      std::filesystem::copy_file(data / name, directory / name);
  }
};

TEST_F(FormatCompatibilityTest, WritesSameRowBytesAsEarlierBuild) {
  const store::ResultFile opened(data / "fields.h5");
  std::vector<store::ResultRow> rows(opened.count());
  opened.read_rows(0, rows);
  for (const store::ResultRow& in_file : rows) {
    store::ResultRow written = store::to_row(store::to_result(in_file));
    store::update_checksum(written);
    EXPECT_EQ(std::memcmp(&written, &in_file, sizeof written), 0) << "row " << in_file.index;
  }
}

TEST_F(FormatCompatibilityTest, ReadsResultsOfEarlierBuild) {
  const PlanResult row = ResultReader(data / "fields.h5").row(1);
  EXPECT_EQ(row.id, "00002");
  EXPECT_EQ(row.status, PlanStatus::converged);
  EXPECT_EQ(row.statistics.mean_temp, 14.451861513217585);
  EXPECT_EQ(row.statistics.std_temp, 6.084584967936436);
  EXPECT_EQ(row.statistics.pct_above, 37.2093023255814);
  EXPECT_EQ(row.statistics.pct_below, 51.162790697674424);
  EXPECT_EQ(row.iterations, 105);
  EXPECT_EQ(row.last_delta, 9.551685210240635e-05);
  EXPECT_EQ(row.interior_cells, 129);
  EXPECT_EQ(row.input_hash, 0xde8f028b08595604);
  EXPECT_EQ(row.device, "cpu avx512");
  EXPECT_EQ(row.solver, "jacobi 1");
  EXPECT_EQ(row.phases.store_wait_s, 0.000541784F);
}

TEST_F(FormatCompatibilityTest, WritesSameJournalBytesAsEarlierBuild) {
  store::JournalReader reader(File(data / "killed.h5.wal0", O_RDONLY));
  std::vector<std::pair<store::ResultRow, store::JournalEntry>> found;
  reader.scan([&](const store::ResultRow& row, const store::JournalEntry& entry) {
    found.emplace_back(row, entry);
  });
  ASSERT_EQ(found.size(), 3u);
  store::JournalWriter written(file, 0, reader.file_id(), reader.session());
  for (const auto& [row, entry] : found)
    written.add(row, reader.rooms(entry), reader.field(entry, row));
  written.commit();
  EXPECT_EQ(read_bytes(journal), read_bytes(data / "killed.h5.wal0"));
}

TEST_F(FormatCompatibilityTest, ResumesFilesOfEarlierBuild) {
  for (const char* name : {"fields.h5", "killed.h5"}) {
    const ResultReader before(data / name);
    EXPECT_THAT(before.damage_messages(), IsEmpty());
    TestPlan plan = make_plan(0, {{512, 512}});
    for (const PlanResult& row : before.rows()) plan.ids.push_back(row.id);
    plan.settings = before.settings();
    ResultStore store({directory / name, OpenMode::resume}, plan, {});
    store.store(make_results(plan, 6, 7));
    store.close({});
    const ResultReader after(directory / name);
    for (std::size_t i = 0; i < 7; ++i) {
      EXPECT_TRUE(same(after.row(i), i < 6 ? before.row(i) : make_result(plan, i))) << name << i;
      EXPECT_EQ(after.field(i), i < 6 ? before.field(i) : field_of(plan, i)) << name << i;
    }
  }
}

/// Compares the column table with the README. Adjacent columns of equal meaning share a line.
TEST(ColumnTable, MatchesReadme) {
  std::string table = "| column of `/rows` | type | unit, meaning |\n|---|---|---|\n";
  std::string names, end;
  for_each_member<PlanResult>([&]<class T, class... More>(const ResultColumn<T, More...>& column) {
    const auto kind = std::is_class_v<T>            ? "text "
                      : std::is_enum_v<T>           ? "enum int"
                      : std::is_floating_point_v<T> ? "float"
                      : std::is_unsigned_v<T>       ? "uint"
                                                    : "int";
    const auto bytes = sizeof(column.in_row(std::declval<store::ResultRow&>()));
    const auto size = std::to_string(std::is_class_v<T> ? bytes : 8 * bytes);
    const std::string its_end = " | " + (kind + size) + " | " + column.meaning + " |\n";
    if (its_end != end) table += std::exchange(names, "| ") + std::exchange(end, its_end);
    names += (names == "| " ? "" : ", ") + std::string(column.name);
  });
  table += names + end + "| row_crc32 | uint32 | checksum of the other columns |\n\n";
  EXPECT_THAT(read_bytes(WALLHEAT_STORE_README), HasSubstr(table))
      << "put this table into src/store/README.md:\n"
      << table;
}

TEST(RoomColumns, MatchReadme) {
  const std::string readme = read_bytes(WALLHEAT_STORE_README);
  const std::string begin = "A room has ";
  const std::size_t at = readme.find(begin);
  ASSERT_NE(at, std::string::npos);
  const std::string sentence = readme.substr(at, readme.find(". ", at) - at).substr(begin.size());
  std::istringstream words(std::regex_replace(sentence, std::regex(R"(\([^)]*\)|,|\band\b)"), " "));
  std::vector<std::string> columns;
  for_each_member<RoomResult>([&](const auto& column) { columns.emplace_back(column.name); });
  EXPECT_THAT(std::vector<std::string>(std::istream_iterator<std::string>(words), {}), columns);
}

}  // namespace
}  // namespace wallheat::store_test
