#include <cmath>
#include <fstream>

#include "store/layout.hpp"
#include "store_fixture.hpp"

// Files of an earlier build: see tests/data/README.md.

namespace wallheat::store_test {
namespace {

const std::filesystem::path data = WALLHEAT_TEST_DATA;

std::vector<std::string> answered(const ResultReader& reader) {
  std::vector<std::string> ids;
  for (const PlanResult& row : reader.rows())
    if (is_answer(row.status)) ids.push_back(row.id);
  return ids;
}

/// What a run of the same campaign asks for.
TestPlan plan_of(const ResultReader& reader, bool save_fields) {
  TestPlan plan;
  for (const PlanResult& row : reader.rows()) plan.ids.push_back(row.id);
  plan.settings = reader.settings();
  plan.save_fields = save_fields;
  if (save_fields) {
    plan.shapes.assign(plan.ids.size(), {24, 24});
    plan.shapes.back() = {512, 512};
  }
  return plan;
}

/// A type as HDF5 writes it into a file.
std::string encoded(const store::Handle& type) {
  std::size_t size = 0;
  store::checked(H5Tencode(type.get(), nullptr, &size), "encode a type");
  std::string bytes(size, '\0');
  store::checked(H5Tencode(type.get(), bytes.data(), &size), "encode a type");
  return bytes;
}

std::string encoded_row_type_of(const std::filesystem::path& path) {
  const auto opened = store::open_to_read(path);
  const store::Handle rows(H5Dopen2(opened.get(), "/rows", H5P_DEFAULT), H5Dclose, "open /rows");
  return encoded({H5Dget_type(rows.get()), H5Tclose, "read the type"});
}

class KeptFiles : public StoreTest {
 protected:
  KeptFiles() {
    for (const char* name : {"plain.h5", "fields.h5", "killed.h5", "killed.h5.wal0"})
      std::filesystem::copy_file(data / name, directory / name);
  }
  [[nodiscard]] std::filesystem::path kept(const char* name) const { return directory / name; }
};

TEST_F(KeptFiles, are_read) {
  const ResultReader plain(kept("plain.h5"));
  EXPECT_THAT(answered(plain),
              ElementsAre("00001", "00002", "00003", "00004", "00005", "00006", "00007"));
  EXPECT_TRUE(plain.closed_well());
  const ResultReader fields(kept("fields.h5"));
  EXPECT_THAT(answered(fields), ElementsAre("00002", "00004", "00006"));
  const ResultReader killed(kept("killed.h5"));
  EXPECT_THAT(answered(killed), ElementsAre("00001", "00003", "00005"));
  EXPECT_FALSE(killed.closed_well());
  for (const ResultReader* reader : {&plain, &fields, &killed}) {
    EXPECT_THAT(reader->damage(), IsEmpty());
    for (const PlanResult& row : reader->rows()) {
      const auto field = reader->field(row.index);
      EXPECT_EQ(field.has_value(), reader != &plain && is_answer(row.status)) << row.id;
      if (field) {
        EXPECT_EQ(field->rows, 24u);
      }
    }
  }
}

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

TEST_F(KeptFiles, have_the_row_type_that_this_build_writes_byte_for_byte) {
  make_closed(make_plan(3), 3);
  EXPECT_EQ(encoded_row_type_of(kept("plain.h5")), encoded_row_type_of(file));
  EXPECT_EQ(encoded_row_type_of(kept("fields.h5")), encoded_row_type_of(file));
}

TEST_F(KeptFiles, have_the_journal_that_this_build_writes_byte_for_byte) {
  store::JournalReader reader(File(kept("killed.h5.wal0"), O_RDONLY));
  std::vector<std::pair<store::Row, store::JournalPlace>> found;
  reader.scan([&](const store::Row& row, const store::JournalPlace& place) {
    found.emplace_back(row, place);
  });
  ASSERT_EQ(found.size(), 3u);
  store::JournalWriter written(file, 0, reader.file_id(), reader.session());
  for (const auto& [row, place] : found)
    written.add(row, reader.rooms(place), reader.field(place, row));
  written.commit();
  EXPECT_EQ(read_bytes(journal), read_bytes(data / "killed.h5.wal0"));
}

TEST_F(KeptFiles, are_resumed) {
  for (const char* name : {"fields.h5", "killed.h5"}) {
    const ResultReader before(data / name);
    const auto plan = plan_of(before, true);
    std::vector<std::string> report;
    auto store = ResultStore::resume(kept(name), plan, {{"wrote", "this build"}}, &report);
    EXPECT_THAT(report, IsEmpty()) << name;
    auto large = make_result(plan, 6);
    store.store(std::span(&large, 1));
    store.close({});
    const ResultReader after(kept(name));
    EXPECT_TRUE(after.closed_well());
    EXPECT_EQ(after.settings(), before.settings());
    ASSERT_EQ(after.sessions().size(), before.sessions().size() + 1);
    for (std::size_t i = 0; i < 6; ++i) {
      EXPECT_TRUE(same(after.rows()[i], before.rows()[i])) << name << ", row " << i;
      EXPECT_EQ(after.field(i), before.field(i)) << name << ", row " << i;
    }
    EXPECT_TRUE(same(after.rows()[6], large));
    EXPECT_EQ(after.field(6), make_field(6, {512, 512}));
  }
}

}  // namespace
}  // namespace wallheat::store_test
