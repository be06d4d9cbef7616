#include <hdf5.h>

#include <algorithm>
#include <atomic>
#include <cstring>
#include <fstream>
#include <functional>
#include <limits>
#include <map>
#include <thread>

#include "core/plan_hash.hpp"
#include "store/packs/pack_file.hpp"
#include "store/packs/plan_codec.hpp"
#include "store/packs/plan_pack.hpp"
#include "store_fixture.hpp"
#include "support/process.hpp"
#include "support/refusal.hpp"
#include "support/shapes.hpp"
#include "support/temporary_directory.hpp"
#include "wallheat/error.hpp"
#include "wallheat/floor_plan_files.hpp"

namespace wallheat {
namespace {

/// Plans in memory.
class MemorySource final : public PlanSource {
 public:
  void add(const std::string& id, FloorPlan plan) {
    ids_.push_back(id);
    plans_[id] = std::move(plan);
  }
  void add_unreadable(const std::string& id) { ids_.push_back(id); }

  [[nodiscard]] std::filesystem::path path() const override { return "memory"; }
  [[nodiscard]] PlanIds ids() const override { return {TextList(ids_), {}, {}}; }
  [[nodiscard]] FloorPlan load(const std::string& id) const override {
    const auto found = plans_.find(id);
    if (found == plans_.end()) throw InputError(id + "_domain.npy: torn");
    return found->second;
  }
  [[nodiscard]] Grid<std::uint8_t> interior(const std::string& id, std::size_t) const override {
    return load(id).interior;
  }
  [[nodiscard]] GridShape shape(const std::string& id) const override {
    const FloorPlan plan = load(id);
    return {plan.domain.rows, plan.domain.cols};
  }
  [[nodiscard]] bool has_source(const std::string& id) const override {
    return load(id).has_source();
  }
  [[nodiscard]] std::uint64_t stamp(const std::string&) const override { return 0; }

 private:
  std::vector<std::string> ids_;
  std::map<std::string, FloorPlan> plans_;
};

/// Bit for bit.
bool same_plan(const FloorPlan& a, const FloorPlan& b) {
  return a.interior == b.interior && a.domain.rows == b.domain.rows &&
         a.domain.cols == b.domain.cols &&
         std::memcmp(a.domain.cells.data(), b.domain.cells.data(),
                     a.domain.cells.size() * sizeof(double)) == 0;
}

FloorPlan numbered_values(std::size_t rows, std::size_t cols, std::size_t distinct) {
  FloorPlan plan{Grid<double>(rows, cols), Grid<std::uint8_t>(rows, cols, 1)};
  for (std::size_t i = 0; i < rows * cols; ++i)
    plan.domain.cells[i] = 0.1 * static_cast<double>((i * 7919) % distinct);
  return plan;
}

class PlanPackTest : public testing::Test {
 protected:
  [[nodiscard]] std::filesystem::path file() const { return directory_ / "plans.h5"; }
  static PackOptions options() {
    PackOptions chosen;
    chosen.threads = 3;
    return chosen;
  }
  PackReport pack() { return pack_plans(file(), plans_, plans_.ids().ids, options()); }
  void add_some() {
    for (const auto& [name, plan] : awkward_plans()) plans_.add(name, plan);
  }
  /// Flips a bit in the middle of the place where `pack` holds `bytes`.
  static void damage(const std::filesystem::path& pack, const std::vector<std::byte>& bytes) {
    std::string text = file_text(pack);
    const auto place =
        text.find(std::string(reinterpret_cast<const char*>(bytes.data()), bytes.size()));
    ASSERT_NE(place, std::string::npos);
    text[place + bytes.size() / 2] ^= 0x10;
    std::ofstream(pack, std::ios::binary) << text;
  }

  TemporaryDirectory directory_;
  MemorySource plans_;
};

TEST_F(PlanPackTest, gives_every_plan_back_bit_for_bit) {
  add_some();
  plans_.add("\xC3\xA9tage \xE5\x8F\xB0 1", room(20, 30));
  plans_.add(std::string(max_id_length, 'x'), room(9, 7));
  plans_.add("256 values", numbered_values(31, 33, 256));
  plans_.add("257 values", numbered_values(31, 33, 257));
  plans_.add("65536 values", numbered_values(300, 301, 65536));
  plans_.add("65537 values", numbered_values(300, 301, 65537));
  FloorPlan zeros = room(8, 9);
  zeros.domain.cells[3] = -0.0;
  zeros.domain.cells[4] = 0.0;
  zeros.domain.cells[5] = std::numeric_limits<double>::denorm_min();
  zeros.domain.cells[6] = -1e300;
  zeros.domain.cells[7] = static_cast<double>(0.1F);
  plans_.add("-0", zeros);

  const PackReport report = pack();
  const auto ids = plans_.ids().ids;
  EXPECT_EQ(report.plans, ids.size());
  EXPECT_TRUE(report.left_out.empty());
  EXPECT_EQ(report.bytes_out, std::filesystem::file_size(file()));
  const auto source = open_plan_source(file());
  EXPECT_EQ(source->ids().ids, ids);
  std::uint64_t cells = 0;
  for (const std::string_view text : ids) {
    const std::string id(text);
    const FloorPlan plan = plans_.load(id);
    EXPECT_TRUE(same_plan(source->load(id), plan)) << id;
    EXPECT_EQ(source->interior(id, plan.interior.cells.size()), plan.interior) << id;
    EXPECT_EQ(source->interior_cells(id), count_interior(plan)) << id;
    EXPECT_EQ(source->shape(id), plans_.shape(id)) << id;
    cells += plan.domain.cells.size();
  }
  EXPECT_EQ(report.bytes_in, cells * 9);
}

TEST_F(PlanPackTest, is_a_hundredth_of_the_npy_files) {
  plans_.add("1", room(512, 512));
  plans_.add("2", room(500, 512));
  const PackReport report = pack();
  EXPECT_LT(report.bytes_out * 100, report.bytes_in);
}

/// As src/store/README.md tells how.
TEST_F(PlanPackTest, can_be_read_with_h5py_and_zlib) {
  if (!store_test::has_h5py()) GTEST_SKIP() << "/usr/bin/python3 has no h5py";
  FloorPlan many = numbered_values(40, 50, 1000);
  many.source = numbered_values(40, 50, 70).domain;
  plans_.add("few", random_plan(21, 13, 60, 7));
  plans_.add("many", many);
  plans_.add("all", numbered_values(300, 301, 70000));
  for (const std::string_view text : plans_.ids().ids) {
    const std::string id(text);
    save_floor_plan(directory_.path(), id, plans_.load(id));
  }
  (void)pack();
  EXPECT_EQ(store_test::run_python(R"(
import pathlib, sys, zlib
import numpy as np
from h5py import File as opened
folder = pathlib.Path(sys.argv[1]).parent
with opened(sys.argv[1]) as f:
    ids = f["ids"][:].tobytes().decode().split("\0")[:-1]
    assert ids == ["few", "many", "all"], ids
    assert list(f["plans"]["code_bytes"]) == [1, 2, 8] and list(f["plans"]["source_code_bytes"]) == [0, 1, 0]
    for id, row in zip(ids, f["plans"][:]):
        rows, cols = int(row["rows"]), int(row["cols"])
        stream = f["data/%d" % row["part"]][int(row["position"]):int(row["position"] + row["bytes"])]
        raw = np.frombuffer(zlib.decompress(stream.tobytes()), np.uint8)
        def take(count):
            global raw
            raw, taken = raw[count:], raw[:count]
            return taken
        mask = np.unpackbits(take(rows * ((cols + 7) // 8)).reshape(rows, -1), axis=1)[:, :cols]
        assert (mask == np.load(folder / (id + "_interior.npy"))).all()
        for name, prefix in (("domain", ""), ("source", "source_")):
            width, count = int(row[prefix + "code_bytes"]), int(row[prefix + "value_count"])
            if width == 0:
                continue
            values = take(8 * count).view("<f8")
            codes = take(rows * cols * width).reshape(width, -1).T.copy().view({1: "u1", 2: "<u2", 8: "<f8"}[width])
            field = (values[codes] if width < 8 else codes).reshape(rows, cols)
            assert (field == np.load(folder / ("%s_%s.npy" % (id, name)))).all(), (id, name)
        assert len(raw) == 0
)",
                                   file()),
            0);
}

TEST_F(PlanPackTest, gives_sources_back) {
  FloorPlan with = room(12, 17);
  with.source = numbered_values(12, 17, 300).domain;
  plans_.add("with", with);
  plans_.add("without", room(12, 17));
  (void)pack();
  const auto source = open_plan_source(file());
  EXPECT_TRUE(same_plan(source->load("with"), with));
  EXPECT_EQ(source->load("with").source, with.source);
  EXPECT_FALSE(source->load("without").has_source());
  EXPECT_TRUE(source->has_source("with"));
  EXPECT_FALSE(source->has_source("without"));
}

TEST_F(PlanPackTest, of_many_plans_is_replaced_when_told_to) {
  for (int n = 0; n < 5000; ++n) plans_.add(std::to_string(n), random_plan(9, 9, 50, n));
  (void)pack();
  PackOptions replace = options();
  replace.overwrite = true;
  EXPECT_EQ(pack_plans(file(), plans_, plans_.ids().ids, replace).plans, 5000U);
}

TEST_F(PlanPackTest, serves_many_threads_at_once) {
  add_some();
  (void)pack();
  const auto source = open_plan_source(file());
  const auto ids = plans_.ids().ids;
  std::atomic<int> wrong = 0;
  {
    std::vector<std::jthread> threads;
    for (int thread = 0; thread < 8; ++thread) {
      threads.emplace_back([&] {
        for (int round = 0; round < 20; ++round) {
          for (const std::string_view text : ids) {
            const std::string id(text);
            wrong += same_plan(source->load(id), plans_.load(id)) ? 0 : 1;
          }
        }
      });
    }
  }
  EXPECT_EQ(wrong, 0);
}

TEST_F(PlanPackTest, keeps_the_place_and_the_reason_of_a_plan_that_cannot_be_read) {
  plans_.add("a", room(9, 9));
  plans_.add_unreadable("torn");
  plans_.add("b", room(7, 9));
  const PackReport report = pack();
  EXPECT_EQ(report.plans, 2U);
  ASSERT_EQ(report.left_out.size(), 1U);
  EXPECT_EQ(report.left_out[0].id, "torn");
  const auto source = open_plan_source(file());
  EXPECT_THAT(source->ids().ids, ElementsAre("a", "torn", "b"));
  EXPECT_TRUE(same_plan(source->load("b"), room(7, 9)));
  const auto expected = AllOf(HasSubstr("plans.h5"), HasSubstr("plan torn was left out"),
                              HasSubstr("torn_domain.npy: torn"));
  EXPECT_THAT(refusal_of<InputError>([&] { (void)source->load("torn"); }), expected);
  EXPECT_THAT(refusal_of<InputError>([&] { (void)source->shape("torn"); }), expected);
  EXPECT_THAT(refusal_of<InputError>([&] { (void)source->stamp("torn"); }), expected);
}

TEST_F(PlanPackTest, names_the_plan_that_it_does_not_have) {
  plans_.add("a", room(9, 9));
  (void)pack();
  const auto source = open_plan_source(file());
  EXPECT_THAT(refusal_of<InputError>([&] { (void)source->load("b"); }),
              AllOf(HasSubstr("plans.h5"), HasSubstr("there is no plan b in this pack")));
  EXPECT_THAT(refusal_of<InputError>([&] { (void)source->load("../a"); }), HasSubstr("'/'"));
}

TEST_F(PlanPackTest, writes_nothing_where_no_plan_can_be_read) {
  plans_.add_unreadable("torn");
  EXPECT_THAT(refusal_of<RunError>([&] { (void)pack(); }),
              AllOf(HasSubstr("none of the 1 plan(s)"), HasSubstr("torn_domain.npy: torn")));
  EXPECT_TRUE(std::filesystem::is_empty(directory_.path()));
}

TEST_F(PlanPackTest, replaces_a_file_only_when_told_to) {
  plans_.add("a", room(9, 9));
  std::ofstream(file()) << "precious";
  EXPECT_THAT(refusal_of<RunError>([&] { (void)pack(); }), HasSubstr("--overwrite"));
  EXPECT_EQ(file_text(file()), "precious");
  PackOptions replace = options();
  replace.overwrite = true;
  const auto replaced = [&] { return pack_plans(file(), plans_, plans_.ids().ids, replace); };
  EXPECT_THAT(refusal_of<RunError>([&] { (void)replaced(); }), HasSubstr("is not a pack"));
  EXPECT_EQ(file_text(file()), "precious");
  std::filesystem::remove(file());
  (void)pack();
  EXPECT_THAT(refusal_of<RunError>([&] { (void)pack(); }), HasSubstr("--overwrite"));
  (void)replaced();
  EXPECT_TRUE(same_plan(open_plan_source(file())->load("a"), room(9, 9)));
}

TEST_F(PlanPackTest, leaves_the_old_file_when_stopped) {
  add_some();
  (void)pack();
  const std::string before = file_text(file());
  PackOptions stopped = options();
  stopped.overwrite = true;
  stopped.threads = 1;
  std::size_t checked = 0;
  stopped.checked = [&](std::size_t done) { checked = done; };
  stopped.interrupted = [&] { return checked > 0; };  // as late as it can be
  EXPECT_THAT(
      refusal_of<RunError>([&] { (void)pack_plans(file(), plans_, plans_.ids().ids, stopped); }),
      HasSubstr("nothing was written"));
  EXPECT_EQ(file_text(file()), before);
  EXPECT_FALSE(std::filesystem::exists(file().string() + ".new"));
}

TEST_F(PlanPackTest, finds_a_plan_that_does_not_come_back_as_it_was) {
  for (int n = 0; n < 65; ++n) plans_.add(std::to_string(n), random_plan(9, 9, 50, n));
  PackOptions forgetful = options();
  forgetful.threads = 1;  // 64 plans are checked at a time
  forgetful.checked = [&](std::size_t) {
    damage(file().string() + ".new", store::encode_plan(plans_.load("64")).stream);
  };
  EXPECT_THAT(
      refusal_of<RunError>([&] { (void)pack_plans(file(), plans_, plans_.ids().ids, forgetful); }),
      AllOf(HasSubstr("plan 64 was not read back as it was packed"), HasSubstr("checksum")));
  EXPECT_TRUE(std::filesystem::is_empty(directory_.path()));
}

TEST_F(PlanPackTest, loses_no_other_plan_to_a_damaged_one) {
  plans_.add("a", room(40, 50));
  plans_.add("b", random_plan(40, 50, 60, 1));
  plans_.add("c", room(41, 50));
  (void)pack();
  damage(file(), store::encode_plan(plans_.load("b")).stream);
  const auto source = open_plan_source(file());
  for (const auto& read : std::vector<std::function<void()>>{
           [&] { (void)source->load("b"); }, [&] { (void)source->interior("b", 10'000); }})
    EXPECT_THAT(
        refusal_of<InputError>(read),
        AllOf(HasSubstr("plans.h5"), HasSubstr("plan b is damaged"), HasSubstr("checksum")));
  EXPECT_TRUE(same_plan(source->load("a"), plans_.load("a")));
  EXPECT_TRUE(same_plan(source->load("c"), plans_.load("c")));
}

TEST_F(PlanPackTest, gives_no_plan_the_cells_of_another_one) {
  plans_.add("a", room(40, 50));
  plans_.add("b", random_plan(40, 50, 60, 1));
  (void)pack();
  std::string bytes = file_text(file());
  std::array<store::PackRow, 2> rows{};
  const auto row_of_b = [&] {  // the only one with its hash
    const std::uint64_t hash = plan_hash(plans_.load("b"));
    const std::string text(reinterpret_cast<const char*>(&hash), sizeof hash);
    return bytes.find(text) - offsetof(store::PackRow, input_hash);
  }();
  std::memcpy(rows.data(), bytes.data() + row_of_b - sizeof rows[0], sizeof rows);
  const std::uint64_t hash = rows[1].input_hash;
  rows[1] = rows[0];
  rows[1].input_hash = hash;
  store::seal(rows[1]);
  std::memcpy(bytes.data() + row_of_b, &rows[1], sizeof rows[1]);
  std::ofstream(file(), std::ios::binary) << bytes;

  const auto source = open_plan_source(file());
  EXPECT_TRUE(same_plan(source->load("a"), plans_.load("a")));
  EXPECT_THAT(refusal_of<InputError>([&] { (void)source->load("b"); }),
              AllOf(HasSubstr("plan b is damaged"), HasSubstr("input_hash")));
}

TEST_F(PlanPackTest, refuses_what_is_no_pack_in_one_sentence) {
  plans_.add("a", room(40, 50));
  (void)pack();
  const std::string whole = file_text(file());
  const auto refused = [&](const std::string& bytes) {
    std::ofstream(file(), std::ios::binary | std::ios::trunc) << bytes;
    const std::string sentence = refusal_of<RunError>([&] { (void)open_plan_source(file()); });
    EXPECT_THAT(sentence, AllOf(HasSubstr("plans.h5"), Not(HasSubstr("\n"))));
    return sentence;
  };
  EXPECT_THAT(refused(""), HasSubstr("neither a directory of floor plans nor a pack"));
  EXPECT_THAT(refused("id,mean_temp\n"),
              HasSubstr("neither a directory of floor plans nor a pack"));
  EXPECT_THAT(refused(whole.substr(0, whole.size() / 2)), HasSubstr("pack the plans anew"));
  std::filesystem::remove(file());
  EXPECT_THAT(refusal_of<RunError>([&] { (void)open_plan_source(file()); }),
              HasSubstr("there is no directory or pack"));
}

TEST_F(PlanPackTest, refuses_a_pack_of_another_version_and_files_of_another_kind) {
  const auto refused = [&](const char* mark, const char* version) {
    const hid_t made = H5Fcreate(file().c_str(), H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT);
    const hid_t scalar = H5Screate(H5S_SCALAR);
    for (const auto& [name, value] :
         std::map<std::string, std::string>{{"wallheat", mark}, {"format_version", version}}) {
      const hid_t type = H5Tcopy(H5T_C_S1);
      H5Tset_size(type, value.size() + 1);
      const hid_t attribute =
          H5Acreate2(made, name.c_str(), type, scalar, H5P_DEFAULT, H5P_DEFAULT);
      H5Awrite(attribute, type, value.c_str());
      H5Aclose(attribute);
      H5Tclose(type);
    }
    H5Sclose(scalar);
    H5Fclose(made);
    return refusal_of<RunError>([&] { (void)open_plan_source(file()); });
  };
  EXPECT_THAT(refused("plans", "4"),
              AllOf(HasSubstr("format version 4"), HasSubstr("knows version 1 only")));
  EXPECT_THAT(refused("results", "2"), HasSubstr("holds results, not floor plans"));
  EXPECT_THAT(refused("something", "1"), HasSubstr("no pack of floor plans"));
}

TEST_F(PlanPackTest, has_another_stamp_when_it_was_written_anew) {
  plans_.add("a", room(9, 9));
  (void)pack();
  const std::uint64_t before = open_plan_source(file())->stamp("a");
  EXPECT_EQ(open_plan_source(file())->stamp("a"), before);
  std::filesystem::last_write_time(
      file(), std::filesystem::last_write_time(file()) + std::chrono::seconds(5));
  EXPECT_NE(open_plan_source(file())->stamp("a"), before);
}

}  // namespace
}  // namespace wallheat
