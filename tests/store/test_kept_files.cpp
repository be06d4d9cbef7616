#include <cmath>
#include <fstream>

#include "store/results/hdf5_file.hpp"
#include "store/results/write_ahead_log.hpp"
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
StorePlan plan_of(const ResultReader& reader, bool save_fields) {
  StorePlan plan;
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
  const auto opened = store::open_file({}, path, store::Access::read);
  const store::Handle rows(H5Dopen2(opened.get(), "/rows", H5P_DEFAULT), H5Dclose, "open /rows");
  return encoded({H5Dget_type(rows.get()), H5Tclose, "read the type"});
}

class KeptFiles : public StoreTest {
 protected:
  KeptFiles() {
    for (const char* name : {"plain.h5", "fields.h5", "killed.h5", "killed.h5.wal"})
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
    const auto opened = store::open_file({}, kept(name), store::Access::read);
    const store::RowTable table(opened);
    const store::RowsInFile rows(real_system(), kept(name), table.offset(), table.count());
    rows.for_each_unchecked([&](std::size_t, const store::Row& in_file) {
      store::Row written{};
      store::put_columns(written, store::to_result(in_file));
      written.field_slot = in_file.field_slot;
      written.field_bytes = in_file.field_bytes;
      written.field_crc32 = in_file.field_crc32;
      store::seal(written);
      EXPECT_EQ(std::memcmp(&written, &in_file, sizeof written), 0)
          << name << ", row " << in_file.index;
    });
  }
}

TEST_F(KeptFiles, have_the_row_type_that_this_build_writes_byte_for_byte) {
  make_closed(make_plan(3), 3);
  EXPECT_EQ(encoded_row_type_of(kept("plain.h5")), encoded_row_type_of(file));
  EXPECT_EQ(encoded_row_type_of(kept("fields.h5")), encoded_row_type_of(file));
}

TEST_F(KeptFiles, have_the_log_that_this_build_writes_byte_for_byte) {
  auto reading = store::read_log({}, kept("killed.h5"));
  ASSERT_TRUE(reading);
  std::vector<store::LoggedRow> rows;
  for (const auto i : reading->stored_here) {
    rows.push_back({reading->snapshot.offsets[i], reading->snapshot.rows[i]});
    store::forget_row(reading->snapshot, i);
  }
  ASSERT_EQ(rows.size(), 3u);
  store::LogWriter written({}, file, reading->snapshot);
  written.append(rows);
  EXPECT_EQ(read_bytes(log_path(file)), read_bytes(data / "killed.h5.wal"));
}

TEST_F(KeptFiles, are_resumed) {
  for (const char* name : {"fields.h5", "killed.h5"}) {
    const ResultReader before(data / name);
    const auto plan = plan_of(before, true);
    std::vector<std::string> report;
    auto store = ResultStore::resume(kept(name), plan, {{"wrote", "this build"}}, &report);
    EXPECT_THAT(report, IsEmpty()) << name;
    auto large = make_result(plan, 6);
    store_all(store, std::span(&large, 1));
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
