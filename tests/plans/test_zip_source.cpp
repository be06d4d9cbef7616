#include <gtest/gtest.h>

#include <atomic>
#include <cstdlib>
#include <fstream>
#include <functional>
#include <sstream>
#include <thread>

#include "core/npy.hpp"
#include "core/plan_files.hpp"
#include "plans/plan_source.hpp"
#include "plans/zip_writer.hpp"
#include "support/error_message.hpp"
#include "support/matchers.hpp"
#include "support/process.hpp"
#include "support/shapes.hpp"
#include "wallheat/error.hpp"
#include "wallheat/floor_plan_files.hpp"

namespace wallheat {
namespace {

using Files = std::vector<std::pair<std::string, std::string>>;

/// Offsets of fields in an entry of the list of members of an archive.
constexpr std::string_view entry_mark = "PK\x01\x02";
constexpr std::size_t flags_at = 8, method_at = 10, crc_at = 16, packed_at = 20, size_at = 24;

Files files_of(const std::vector<NamedPlan>& plans, const std::string& folder = "") {
  Files files;
  for (const auto& [id, plan] : plans)
    for (const auto& [file, bytes] : encode_plan_files(plan))
      files.push_back({folder + plan_file_name(id, file), bytes});
  return files;
}

std::string zip_of(const Files& files) {
  std::ostringstream out;
  ZipWriter zip(out);
  for (const auto& [name, bytes] : files) zip.add(compress_member(name, bytes));
  zip.finish();
  return out.str();
}

bool same_plan(const FloorPlan& a, const FloorPlan& b) {
  return a.domain == b.domain && a.interior == b.interior && a.source == b.source;
}

class ZipSourceTest : public testing::Test {
 protected:
  [[nodiscard]] std::filesystem::path file() const { return directory_ / "plans.zip"; }
  [[nodiscard]] std::filesystem::path plans() const { return directory_ / "plans"; }
  void SetUp() override {
    std::filesystem::create_directory(plans());
    std::mt19937 random(5);
    save_floor_plan(plans(), "10", random_plan_with_sources(random));
    save_floor_plan(plans(), "9", room(20, 30));
    save_floor_plan(plans(), "a house", random_plan(11, 7, 60, 2));
  }
  SharedPlanSource open(const std::string& bytes) {
    std::ofstream(file(), std::ios::binary | std::ios::trunc) << bytes;
    return open_plan_source(file());
  }
  SharedPlanSource open(const Files& files) { return open(zip_of(files)); }
  void expect_error(const std::string& bytes, const Facts& facts) {
    EXPECT_THAT(error_message_of<RunError>([&] { (void)open(bytes); }),
                AllOf(Mentions("plans.zip"), Mentions(facts), Not(HasSubstr("\n"))));
  }
  /// Runs a Python script in `directory_` and returns its status. The scripts write `file()` from
  /// the folder `plans`.
  int python(const std::string& script) {
    std::ofstream(directory_ / "script.py") << script;
    return std::system(
        ("cd " + directory_.path().string() + " && /usr/bin/python3 script.py").c_str());
  }
  /// Expects that the archive has the same content as the directory.
  void expect_same_as_directory() {
    const auto source = open_plan_source(file());
    const auto expected = directory_source(plans());
    EXPECT_EQ(source->ids().ids, expected->ids().ids);
    for (const std::string_view text : expected->ids().ids) {
      const std::string id(text);
      const FloorPlan plan = expected->load(id);
      EXPECT_TRUE(same_plan(source->load(id), plan)) << id;
      EXPECT_EQ(source->interior(id, plan.interior.cells.size()), plan.interior) << id;
      EXPECT_THROW((void)source->interior(id, plan.interior.cells.size() - 1), InputError) << id;
      EXPECT_EQ(source->shape(id), expected->shape(id)) << id;
      EXPECT_EQ(source->has_source(id), plan.has_heat_source()) << id;
    }
  }

  TemporaryDirectory directory_;
};

TEST_F(ZipSourceTest, MatchesDirectoryForArchivesMadeByPython) {
  const std::string files = "for file in sorted(pathlib.Path('plans').iterdir(), reverse=True): ";
  const auto zipped = [&](const std::string& method) {
    return "z = zipfile.ZipFile('plans.zip', 'w', zipfile." + method + ")\n" + files +
           "z.write(file)\nz.close()";
  };
  const std::vector<std::string> scripts{
      zipped("ZIP_STORED"), zipped("ZIP_DEFLATED"),
      // 64-bit sizes also in the list of members.
      "zipfile.ZIP64_LIMIT = 99\n" + zipped("ZIP_DEFLATED"),
      // Written to a pipe: sizes of 64 bits and the checksum follow each member.
      "import subprocess\n"
      "cat = subprocess.Popen('cat > plans.zip', shell=True, stdin=subprocess.PIPE)\n"
      "z = zipfile.ZipFile(cat.stdin, 'w', zipfile.ZIP_DEFLATED)\n"
      "z.comment = b'PK\\5\\6' * 9\n" +
          files +
          "\n    with z.open(str(file), 'w', force_zip64=True) as out: "
          "out.write(file.read_bytes())\n"
          "z.close()\ncat.stdin.close()\nassert cat.wait() == 0",
      "import numpy\n"
      "numpy.savez_compressed('plans', **{file.stem: numpy.load(file) for file in "
      "pathlib.Path('plans').iterdir()})\n"
      "pathlib.Path('plans.npz').rename('plans.zip')"};
  const bool has_numpy = python("import numpy") == 0;
  for (const std::string& script : scripts) {
    if (!has_numpy && script.starts_with("import numpy")) continue;
    ASSERT_EQ(python("import pathlib, zipfile\n" + script), 0);
    expect_same_as_directory();
  }
}

TEST_F(ZipSourceTest, WritesArchiveThatPythonReads) {
  (void)open(files_of({{"1", room(9, 9)}}, "plans/"));
  EXPECT_EQ(python("import zipfile\nz = zipfile.ZipFile('plans.zip')\nassert z.testzip() is None\n"
                   "assert z.namelist() == ['plans/1_domain.npy', 'plans/1_interior.npy']\n"
                   "assert z.infolist()[0].date_time == (1980, 1, 1, 0, 0, 0)"),
            0);
}

TEST_F(ZipSourceTest, IgnoresFilesThatMacOsAdds) {
  const Files plan = files_of({{"7", room(20, 30)}}, "plans/");
  for (const std::string folder : {"__MACOSX/plans/._", "plans/._", ".Trashes/501/"}) {
    // Finder writes the files of __MACOSX next to the files that they belong to.
    Files mixed;
    for (const auto& [name, bytes] : plan) {
      mixed.push_back({folder + name.substr(name.find('/') + 1), std::string("\0\5\26\7", 4)});
      mixed.push_back({name, bytes});
    }
    for (const Files& files : {mixed, Files(mixed.rbegin(), mixed.rend())}) {
      const SharedPlanSource source = open(files);
      EXPECT_THAT(source->ids().ids, ElementsAre("7")) << folder;
      EXPECT_EQ(source->load("7").domain, room(20, 30).domain) << folder;
    }
  }
  Files listed = files_of({{".7", room(20, 30)}, {"8", room(9, 9)}}, "./plans/");
  EXPECT_THAT(open(listed)->ids().ids, ElementsAre("8"));
  listed.push_back({"./plans/building_ids.txt", ".7\n"});
  EXPECT_THAT(open(listed)->ids().ids, ElementsAre(".7"));
  EXPECT_EQ(open(listed)->load(".7").domain, room(20, 30).domain) << "a list may name any plan";
  expect_error(zip_of(files_of({{"7", room(20, 30)}}, ".plans/")), {"floor plan", "dot"});
}

TEST_F(ZipSourceTest, ReadsBackslashesInNamesAsSlashes) {
  Files files = files_of({{"7", room(20, 30)}}, "plans\\");
  files.push_back({"plans\\", ""});
  files.push_back({"plans\\building_ids.txt", "7\r\n"});
  files.push_back({"plans\\spacing.txt", "0.5\r\n"});
  const SharedPlanSource source = open(files);
  EXPECT_THAT(source->ids().ids, ElementsAre("7"));
  EXPECT_EQ(source->load("7").domain, room(20, 30).domain);
  EXPECT_EQ(read_spacing(file()), 0.5);
  const SharedPlanSource unlisted = open_plan_source(file(), ListingMode::lazy);
  EXPECT_EQ(unlisted->load({"7", source->entry_offsets("7")}).domain, room(20, 30).domain);
  files.push_back({"plans/7_domain.npy", ""});
  expect_error(zip_of(files), {"7_domain.npy", "twice"});
  expect_error(zip_of({{"..\\7_domain.npy", ""}}), {"'../7_domain.npy'"});
}

/// An archive of two plans, read with entry offsets by a process that did not list its members.
class UnlistedZipSourceTest : public ZipSourceTest {
 protected:
  void SetUp() override {
    files_ = files_of({{"1", random_plan(11, 7, 60, 2)}, {"2", room(20, 30)}}, "plans/");
    listed_ = open(files_);
  }
  [[nodiscard]] PlanKey key(const std::string& id) const {
    return {id, listed_->entry_offsets(id)};
  }
  [[nodiscard]] SharedPlanSource unlisted() const {
    return open_plan_source(file(), ListingMode::lazy);
  }

  Files files_;
  SharedPlanSource listed_;
};

TEST_F(UnlistedZipSourceTest, ReadsPlanByEntryOffsets) {
  // The complete list cannot be read, which proves that it is not read.
  std::string bytes = zip_of(files_);
  bytes[bytes.rfind("plans/2_interior.npy")] = '\0';
  std::ofstream(file(), std::ios::binary | std::ios::trunc) << bytes;
  const auto source = unlisted();
  EXPECT_TRUE(same_plan(source->load(key("1")), listed_->load("1")));
  EXPECT_EQ(source->stamp(key("1")), listed_->stamp("1"));
  EXPECT_EQ(source->shape(key("1")), listed_->shape("1"));
  EXPECT_THROW((void)source->load("1"), RunError);
}

TEST_F(UnlistedZipSourceTest, NamesMissingFileOfPlan) {
  files_.pop_back();
  listed_ = open(files_);
  EXPECT_THAT(error_message_of<InputError>([&] { (void)unlisted()->load(key("2")); }),
              Mentions({"plans.zip", "2_interior.npy"}));
}

TEST_F(UnlistedZipSourceTest, DetectsReplacedArchive) {
  const PlanKey first = key("1");
  const PlanKey second = key("2");
  std::swap(files_[0], files_[2]);
  (void)open(files_);
  const auto source = unlisted();
  for (const auto& read : std::initializer_list<std::function<void()>>{
           [&] { (void)source->load(first); }, [&] { (void)source->stamp(first); },
           [&] { (void)source->shape(second); }})
    EXPECT_THAT(error_message_of<InputError>(read), Mentions({"plans.zip", "changed"}));
}

TEST_F(ZipSourceTest, KeepsOrderOfIdFile) {
  Files files = files_of({{"2", room(9, 9)}, {"10", room(8, 9)}, {"9", room(8, 9)}}, "x/y/");
  files.push_back({"x/y/old/1_domain.npy", "of a folder below"});
  files.push_back({"notes.txt", "of no plan"});
  const PlanIds unlisted = open(files)->ids();
  EXPECT_THAT(unlisted.ids, ElementsAre("2", "9", "10"));
  EXPECT_THAT(unlisted.origin_note, Mentions({"plans.zip", "building_ids.txt", "3 *_domain.npy"}));
  files.insert(files.begin() + 2,
               {"x/y/building_ids.txt", "\xEF\xBB\xBF# mine\r\n10\r\n 2 \n7\n10"});
  const auto source = open(files);
  EXPECT_THAT(source->ids().ids, ElementsAre("10", "2", "7"));
  EXPECT_THAT(source->ids().duplicates, ElementsAre("10"));
  EXPECT_EQ(source->ids().origin_note, "");
  EXPECT_TRUE(same_plan(source->load("9"), room(8, 9)));
  for (const auto& read : std::vector<std::function<void()>>{
           [&] { (void)source->load("7"); }, [&] { (void)source->shape("7"); },
           [&] { (void)source->stamp("7"); }, [&] { (void)source->has_source("7"); }})
    EXPECT_THAT(error_message_of<InputError>(read), Mentions({"plans.zip", "x/y/7_domain.npy"}));
  EXPECT_THAT(error_message_of<InputError>([&] { (void)source->load("../9"); }),
              Mentions({"../9", "'/'"}));
}

TEST_F(ZipSourceTest, RejectsMaskAboveCellLimit) {
  std::string bytes = zip_of(files_of({{"1", room(9, 9)}}));
  bytes[bytes.rfind(entry_mark) + size_at + 3] = 0x70;  // the size of the mask: 2 GB
  const auto source = open(bytes);
  EXPECT_THAT(error_message_of<InputError>([&] { (void)source->interior("1", 81); }),
              Mentions({"1_interior.npy", "81 cells"}));
}

TEST_F(ZipSourceTest, ChangesStampOfChangedPlanOnly) {
  Files files = files_of({{"1", room(9, 9)}, {"2", room(8, 9)}});
  const auto stamps = [&] {
    const auto source = open(files);
    return std::pair(source->stamp("1"), source->stamp("2"));
  };
  const auto before = stamps();
  EXPECT_NE(before.first, before.second);
  std::swap(files[0], files[3]);  // another order
  EXPECT_EQ(stamps(), before);
  files[2].second.back() ^= 1;  // of plan 2
  const auto after = stamps();
  EXPECT_EQ(after.first, before.first);
  EXPECT_NE(after.second, before.second);
  files.push_back({"1_source.npy", npy::to_bytes(Grid<double>(9, 9))});
  EXPECT_NE(stamps().first, before.first);
}

TEST_F(ZipSourceTest, ReadsGridSpacing) {
  Files files = files_of({{"1", room(9, 9)}}, "plans/");
  (void)open(files);
  EXPECT_EQ(read_spacing(file()), std::nullopt);
  files.push_back({"spacing.txt", "7"});  // of another folder
  files.push_back({"plans/spacing.txt", "0.25 \r\n"});
  (void)open(files);
  EXPECT_EQ(read_spacing(file()), 0.25);
  for (const char* wrong : {"", "1/4", "0", "-1", "nan", "inf"}) {
    files[3].second = wrong;
    (void)open(files);
    EXPECT_THAT(error_message_of<RunError>([&] { (void)read_spacing(file()); }),
                Mentions({"plans.zip", "spacing.txt", "0"}))
        << wrong;
  }
}

TEST_F(ZipSourceTest, NamesUnreadableMember) {
  using Change = std::function<void(std::string & bytes, std::size_t entry)>;
  const std::vector<std::pair<const char*, Change>> changes{
      {"encrypted", [](auto& bytes, auto entry) { bytes[entry + flags_at] |= 1; }},
      {"method 12", [](auto& bytes, auto entry) { bytes[entry + method_at] = 12; }},
      {"checksum", [](auto& bytes, auto entry) { bytes[entry + crc_at] ^= 1; }},
      {"damaged", [](auto& bytes, auto) { bytes[60] ^= 1; }},
      {"central directory", [](auto& bytes, auto) { bytes[33] = 'x'; }},
      {"longer", [](auto& bytes, auto entry) { bytes[entry + packed_at + 3] = 0x70; }},
      {"size", [](auto& bytes, auto entry) { bytes[entry + size_at + 3] = 0x70; }},
      {"decompressed", [](auto& bytes, auto entry) { bytes[entry + size_at] ^= 1; }},
      {"checksum", [](auto& bytes, auto entry) {
         bytes[entry + method_at] = 0;
         bytes[entry + packed_at] ^= 1;
       }}};
  const Files files = files_of({{"1", room(20, 30)}, {"2", room(9, 9)}});
  for (const auto& [cause, change] : changes) {
    std::string bytes = zip_of(files);
    change(bytes, bytes.find(entry_mark));
    const auto source = open(bytes);
    EXPECT_TRUE(same_plan(source->load("2"), room(9, 9))) << cause;
    EXPECT_THAT(error_message_of<InputError>([&] { (void)source->load("1"); }),
                AllOf(Mentions({"plans.zip", "1_domain.npy", cause}), Not(HasSubstr("\n"))));
  }
}

TEST_F(ZipSourceTest, RejectsInvalidArchives) {
  const Files plan = files_of({{"1", room(9, 9)}});
  const std::string whole = zip_of(plan);
  const auto cut = [](const std::string& bytes) { return bytes.substr(0, 40) + bytes.substr(41); };
  std::string small = whole;  // an end record without 64-bit numbers
  small.erase(small.size() - 98, 76);
  (void)open(small);
  std::string of_two_members = small;
  of_two_members[small.size() - 12] = 1;
  Files twice = plan;
  twice.push_back(plan[1]);
  Files two_folders = files_of({{"1", room(9, 9)}}, "a/");
  two_folders.push_back({"b/2_domain.npy", "x"});
  const std::pair<std::string, Facts> invalid[] = {
      {"", {"directory", "floor plans", "zip archive"}},
      {"id,mean_temp\n", {"directory", "floor plans", "zip archive"}},
      {"PK", {"truncated"}},
      {zip_of({{"a.txt", "text"}}), {"ID_domain.npy"}},
      {zip_of({}), {"ID_domain.npy"}},
      {cut(whole), {"central directory", "damaged"}},
      {cut(small), {"central directory", "offset"}},
      {of_two_members, {"central directory", "damaged"}},
      {zip_of(twice), {"1_interior.npy", "twice"}},
      {zip_of(two_folders), {"'a/'", "'b/'", "zip -j"}}};
  for (const auto& [bytes, facts] : invalid) expect_error(bytes, facts);
  for (const std::string name :
       {"../1_domain.npy", "/1_domain.npy", "a/../1_domain.npy", "a//1_domain.npy"}) {
    Files files = plan;
    files.push_back({name, "x"});
    expect_error(zip_of(files), {"'" + name + "'"});
  }
  std::filesystem::remove(file());
  EXPECT_THAT(error_message_of<RunError>([&] { (void)open_plan_source(file()); }),
              Mentions({"--data", file().string()}));
}

/// A file in which long writes become holes.
class SparseFile final : public std::filebuf {
  std::streamsize xsputn(const char* bytes, std::streamsize count) override {
    if (count < 1 << 27) return std::filebuf::xsputn(bytes, count);
    seekoff(count, std::ios::cur, std::ios::out);
    return count;
  }
};

TEST_F(ZipSourceTest, ReadsZip64Archives) {
  SparseFile sparse;
  ASSERT_NE(sparse.open(file(), std::ios::out | std::ios::binary), nullptr);
  std::ostream out(&sparse);
  ZipWriter zip(out);
  const ZipMember large{"large", std::vector<std::byte>(std::size_t{1} << 27), 1, 0};
  for (int count = 0; count < 33; ++count) zip.add(large);
  ZipMember domain = compress_member("", npy::to_bytes(room(4, 4).domain));
  ZipMember interior = compress_member("", npy::to_bytes(room(4, 4).interior));
  for (int plan = 0; plan < 40'000; ++plan) {
    domain.name = plan_file_name(std::to_string(plan), PlanFile::domain);
    interior.name = plan_file_name(std::to_string(plan), PlanFile::interior);
    zip.add(domain);
    zip.add(interior);
  }
  zip.finish();
  sparse.close();
  ASSERT_GT(std::filesystem::file_size(file()), std::uint64_t{1} << 32);
  const auto source = open_plan_source(file());
  EXPECT_EQ(source->ids().ids.size(), 40'000U);
  EXPECT_TRUE(same_plan(source->load("39999"), room(4, 4)));
  EXPECT_EQ(python("import zipfile\nassert len(zipfile.ZipFile('plans.zip').read('1_domain.npy'))"
                   " == 128 + 8 * 16"),
            0);
}

TEST_F(ZipSourceTest, SupportsConcurrentReads) {
  const auto expected = awkward_plans();
  const auto source = open(files_of(expected));
  std::atomic<int> wrong = 0;
  {
    std::vector<std::jthread> threads;
    for (int thread = 0; thread < 8; ++thread)
      threads.emplace_back([&] {
        for (const auto& [name, plan] : expected)
          wrong += same_plan(source->load(name), plan) ? 0 : 1;
      });
  }
  EXPECT_EQ(wrong, 0);
}

}  // namespace
}  // namespace wallheat
