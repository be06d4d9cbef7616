#include <fcntl.h>

#include "store/layout.hpp"
#include "store_fixture.hpp"

// Files of an earlier build: see tests/data/README.md.

namespace wallheat::store_test {
namespace {

const std::filesystem::path data = WALLHEAT_TEST_DATA;

class KeptFiles : public StoreTest {
 protected:
  KeptFiles() {
    for (const char* name : {"plain.h5", "fields.h5", "killed.h5", "killed.h5.wal0"})
      std::filesystem::copy_file(data / name, directory / name);
  }
  [[nodiscard]] std::filesystem::path kept(const char* name) const { return directory / name; }
};

TEST_F(KeptFiles, have_the_rows_that_this_build_writes_byte_for_byte) {
  for (const char* name : {"plain.h5", "fields.h5"}) {
    const store::ResultFile opened(kept(name));
    std::vector<store::Row> rows(opened.count());
    opened.read_rows(0, rows);
    for (const store::Row& in_file : rows) {
      store::Row written = store::to_row(store::to_result(in_file));
      store::seal(written);
      EXPECT_EQ(std::memcmp(&written, &in_file, sizeof written), 0)
          << name << ", row " << in_file.index;
    }
  }
}

TEST_F(KeptFiles, have_the_journal_that_this_build_writes_byte_for_byte) {
  store::JournalReader reader(File(kept("killed.h5.wal0"), O_RDONLY));
  std::vector<std::pair<store::Row, store::JournalEntry>> found;
  reader.scan([&](const store::Row& row, const store::JournalEntry& entry) {
    found.emplace_back(row, entry);
  });
  ASSERT_EQ(found.size(), 3u);
  store::JournalWriter written(file, 0, reader.file_id(), reader.session());
  for (const auto& [row, entry] : found)
    written.add(row, reader.rooms(entry), reader.field(entry, row));
  written.commit();
  EXPECT_EQ(read_bytes(journal), read_bytes(data / "killed.h5.wal0"));
}

TEST_F(KeptFiles, are_resumed) {
  for (const char* name : {"fields.h5", "killed.h5"}) {
    const ResultReader before(data / name);
    EXPECT_THAT(before.damage(), IsEmpty());
    TestPlan plan = make_plan(0, {{512, 512}});
    for (const PlanResult& row : before.rows()) plan.ids.push_back(row.id);
    plan.settings = before.settings();
    auto store = ResultStore::resume(kept(name), plan, {});
    const auto large = make_result(plan, 6);
    store.store(std::span(&large, 1));
    store.close({});
    const ResultReader after(kept(name));
    EXPECT_TRUE(after.closed_well());
    EXPECT_EQ(after.settings(), before.settings());
    ASSERT_EQ(after.sessions().size(), before.sessions().size() + 1);
    for (std::size_t i = 0; i < 6; ++i) {
      EXPECT_TRUE(same(after.row(i), before.row(i))) << name << ", row " << i;
      EXPECT_EQ(after.field(i), before.field(i)) << name << ", row " << i;
    }
    EXPECT_TRUE(same(after.row(6), large));
    EXPECT_EQ(after.field(6), field_of(plan, 6));
  }
}

}  // namespace
}  // namespace wallheat::store_test
