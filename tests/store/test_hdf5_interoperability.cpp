#include <hdf5.h>

#include "store/repair.hpp"
#include "store_fixture.hpp"

// Result files in other programs that use HDF5, and files of such programs in wallheat.
namespace wallheat::store_test {
namespace {

namespace fs = std::filesystem;

class Hdf5InteroperabilityTest : public StoreTest {
 protected:
  void SetUp() override {
    if (std::system("/usr/bin/python3 -c 'import h5py' >/dev/null 2>&1") != 0)
      GTEST_SKIP() << "/usr/bin/python3 has no h5py";
  }
  /// Runs a script with Debian's Python. The variable f is the open result file.
  void run_python(const std::string& script, const std::string& mode = "r") const {
    const auto path = directory / "script.py";
    write_bytes(path,
                "import math, os, shutil, sys, zlib\nimport h5py, numpy as np\nf = h5py.File('" +
                    file.string() + "', '" + mode + "')\n" + script);
    EXPECT_EQ(std::system(("/usr/bin/python3 " + path.string()).c_str()), 0);
    fs::remove(path);
  }
};

TEST_F(Hdf5InteroperabilityTest, ShowsClosedFileToH5py) {
  auto plan = make_plan_with_rooms(6, {{9, 9}, {4, 5}});
  make_closed(plan, 5);
  run_python(R"(
rows = f["rows"][:]
names = h5py.check_enum_dtype(f["rows"].dtype["status"])
assert rows[3]["id"] == b"plan 3" and rows[3]["host"] == b"host"
assert rows[3]["status"] == names["max_iterations"] and rows[5]["status"] == names["pending"]
assert math.isnan(rows[0]["pct_above"]) and rows[3]["mean_temp"] > 3
assert f["settings"].attrs["tolerance"] == b"0.0001"
assert f["sessions/0"].attrs["host"] == b"first"
assert f.attrs["format_version"] == 3
field = f["fields"]["plan 3"][:]
assert field.shape == (4, 5)
for i, value in enumerate(field.flat):
    assert abs(value - (5 + math.sin(0.01 * (i + 21)))) < 1e-12
rooms = f["rooms"][:]
assert len(rooms) == sum(1 + 3 * i for i in range(5)) and list(rooms["plan"]) == sorted(rooms["plan"])
of_plan = rooms[rooms["plan"] == 4]
assert list(of_plan["room"]) == list(range(1, 14)) and of_plan["mean_temp"][2] == 402.5
assert all(zlib.crc32(room.tobytes()[:-4]) == room["room_crc32"] for room in rooms)
)");
}

TEST_F(Hdf5InteroperabilityTest, KeepsForeignObjectsAfterResume) {
  const auto plan = make_plan(4, {{6, 7}});
  make_closed(plan, 2);
  run_python(R"(
f["notes/mine"] = [1, 2, 3]
f["notes"].attrs["who"] = "me"
f.attrs["title"] = "Flats of Aarhus"
f.attrs["numbers"] = [4, 5]
)",
             "a");
  resume_with(plan, 2, 4);
  expect_contents(file, plan, 4);
  run_python(R"(
assert list(f["notes/mine"]) == [1, 2, 3] and f["notes"].attrs["who"] == "me"
assert f.attrs["title"] == "Flats of Aarhus" and list(f.attrs["numbers"]) == [4, 5]
)");
}

// A program that has an HDF5 file of superblock version 3 open for writing marks the file, and
// HDF5 opens no marked file. Version 2 has no such mark.
TEST_F(Hdf5InteroperabilityTest, StaysReadableWhenNotebookIsKilled) {
  const auto plan = make_plan(4, {{6, 7}});
  make_closed(plan, 2);
  EXPECT_EQ(read_bytes(file)[8], 2) << "version of the superblock";
  run_python("f.attrs['title'] = 'mine'; f.flush(); os._exit(0)", "a");
  expect_contents(file, plan, 2);
  resume_with(plan, 2, 4);
  expect_contents(file, plan, 4);
}

TEST_F(Hdf5InteroperabilityTest, UsesFewBytesPerField) {
  constexpr std::size_t fields = 40;
  const auto plan = make_plan(fields, {{64, 64}});
  make_closed(plan, fields);
  std::size_t compressed = 0;
  for (std::size_t i = 0; i < fields; ++i) compressed += make_result(plan, i).field.size();
  const std::size_t rows = fields * 2048;  // more than a row takes
  const std::size_t size = fs::file_size(file);
  EXPECT_GT(compressed, 0U);
  EXPECT_LT(size, compressed + fields * 400 + rows);
}

TEST_F(Hdf5InteroperabilityTest, RepairRemovesMarkOfKilledProgram) {
  if (std::system("command -v h5repack >/dev/null 2>&1") != 0) GTEST_SKIP() << "no h5repack";
  const auto plan = make_plan(4, {{6, 7}});
  make_closed(plan, 2);
  const auto rewritten = directory / "rewritten.h5";
  const auto command = "h5repack -L " + file.string() + " " + rewritten.string();
  ASSERT_EQ(std::system(command.c_str()), 0);
  fs::rename(rewritten, file);
  ASSERT_EQ(read_bytes(file)[8], 3) << "version of the superblock";
  run_python(
      "f.attrs['title'] = 'mine'; f.flush(); os.kill(os.getpid(), 9) if os.fork() == 0 else "
      "os.wait(); os._exit(0)",
      "r+");
  EXPECT_THAT(error_message([&] { ResultReader reader(file); }),
              Mentions({file.string(), "wallheat repair " + file.string(), "open"}));
  const auto report = repair_results(file);
  EXPECT_TRUE(report.changed);
  EXPECT_TRUE(report.lost.empty());
  expect_contents(file, plan, 2);
  run_python("assert f.attrs['title'] == 'mine'");
}

TEST_F(Hdf5InteroperabilityTest, NamesCommandThatUndoesRewriting) {
  if (std::system("command -v h5repack >/dev/null 2>&1") != 0) GTEST_SKIP() << "no h5repack";
  const auto plan = make_plan(4);
  make_closed(plan, 2);
  const auto rewritten = directory / "rewritten.h5";
  ASSERT_EQ(std::system(("h5repack -f GZIP=6 " + file.string() + " " + rewritten.string()).c_str()),
            0);
  const std::string message = error_message([&] { ResultReader reader(rewritten); });
  EXPECT_THAT(message, Mentions({rewritten.string(), "h5repack -l /rows:CONTI -f /rows:NONE"}));
  EXPECT_THAT(message, Not(HasSubstr("solve")));
  const auto restored = directory / "restored.h5";
  ASSERT_EQ(std::system(("h5repack -l /rows:CONTI -f /rows:NONE " + rewritten.string() + " " +
                         restored.string())
                            .c_str()),
            0);
  expect_contents(restored, plan, 2);
}

TEST_F(Hdf5InteroperabilityTest, KeepsLinksInRootAsLinks) {
  const auto plan = make_plan(4, {{6, 7}});
  make_closed(plan, 2);
  run_python(R"(
f["best"] = h5py.SoftLink("/fields/plan 1")
f["nowhere"] = h5py.SoftLink("/no/such object")
f["elsewhere"] = h5py.ExternalLink("other.h5", "/rows")
f["all"] = f["rows"]
f["also best"] = f["fields/plan 1"]
f["mine/values"] = [1, 2, 3]
f["mine/link"] = h5py.SoftLink("/rows")
f["same values"] = f["mine/values"]
f["a second name"] = f["mine"]
)",
             "a");
  resume_with(plan, 2, 3);
  resume_with(plan, 3, 4);
  expect_contents(file, plan, 4);
  run_python(R"(
link = {name: f.get(name, getlink=True) for name in f}
assert link["best"].path == "/fields/plan 1" and link["nowhere"].path == "/no/such object"
assert (link["elsewhere"].filename, link["elsewhere"].path) == ("other.h5", "/rows")
assert f["all"] == f["rows"] and f["also best"] == f["fields/plan 1"]
assert list(f["same values"]) == [1, 2, 3] and f["same values"] == f["mine/values"]
assert f["a second name"] == f["mine"] and f["mine"].get("link", getlink=True).path == "/rows"
)");
}

TEST_F(Hdf5InteroperabilityTest, ReplacesOwnFileWithManyForeignAttributes) {
  const auto plan = make_plan(2);
  make_closed(plan, 1);
  run_python("for k in range(20): f.attrs[f'note{k}'] = f'text {k}'", "a");
  EXPECT_EQ(error_message([&] { make_closed(plan, 2); }), "(no error)");
}

TEST_F(Hdf5InteroperabilityTest, RejectsOtherVersionsOrForeignFiles) {
  const std::pair<std::string, Facts> others[] = {
      {"f.attrs.modify('format_version', 2)", {file.string(), "version 2", "3"}},
      {"f.attrs.modify('format_version', 7)", {file.string(), "version 7", "3"}},
      {"del f.attrs['wallheat']", {file.string(), "HDF5", "wallheat"}}};
  for (const auto& [script, facts] : others) {
    make_closed(make_plan(2), 0);
    run_python(script, "a");
    expect_errors(make_plan(2), facts);
    fs::remove(file);
  }
}

/// Creates a file for each kind of object that may have a name that wallheat reads.
constexpr const char* make_odd_files = R"(
sound = f.filename
f.close()
folder, other = (os.path.join(os.path.dirname(sound), name) for name in ("odd", "other.h5"))
os.mkdir(folder)

def odd(name, change):
    path = os.path.join(folder, name.replace("/", "_") + ".h5")
    shutil.copy(sound, path)
    with h5py.File(path, "r+") as file:
        change(file)

values = [np.bytes_(b"A" * 9), np.bytes_(b"A" * 60000), "of variable length", np.array([b"A" * 9] * 200), h5py.Empty("S9"),
          np.int32(-7), np.array(7, ">i8"), np.array([7, 7]), np.float64(2.5), np.void(b"A" * 3000)]
for place, attribute in [("/", "wallheat"), ("/", "format_version"), ("/", "file_id"), ("/", "predecessor"), ("/", "notes"),
                         ("/settings", "solver"), ("/sessions/0", "host")]:
    for number, value in enumerate(values):
        odd(f"{place} {attribute} {number}", lambda file: file[place].attrs.__setitem__(attribute, value))

def dataset(file, name, old, creation=lambda options, space: None, space=None):
    of_field = h5py.h5t.IEEE_F64LE, h5py.h5s.create_simple((4,))
    kind, own = (old.id.get_type(), old.id.get_space()) if isinstance(old, h5py.Dataset) else of_field
    options = h5py.h5p.create(h5py.h5p.DATASET_CREATE)
    creation(options, own)
    h5py.h5d.create(file.id, name.encode(), kind, space or own, options)

def external(file, name, old):
    dataset(file, name, old, lambda options, space: options.set_external(other.encode(), 0, h5py.h5f.UNLIMITED))

def virtual(file, name, old):
    dataset(file, name, old, lambda options, space: options.set_virtual(space, other.encode(), name.encode(), space))

def huge(file, name, old):
    dataset(file, name, old, lambda options, space: options.set_chunk((100,)), h5py.h5s.create_simple((1 << 50,)))

def link_to_root(file, name, old):
    file["/other"] = h5py.ExternalLink(other, "/")
    file[name] = h5py.SoftLink("/other" + name)

forms = [link_to_root, external, virtual, huge, dataset, lambda file, name, old: None,
         lambda file, name, old: file.__setitem__(name, h5py.ExternalLink(other, name)),
         lambda file, name, old: file.__setitem__(name, h5py.SoftLink(name)),
         lambda file, name, old: file.create_group(name),
         lambda file, name, old: dataset(file, name, old, space=h5py.h5s.create(h5py.h5s.SCALAR)),
         lambda file, name, old: dataset(file, name, old, space=h5py.h5s.create_simple((6, 6)))]
forms += [lambda file, name, old, value=value: file.__setitem__(name, value) for value in values]
for name in ("/rows", "/rooms", "/settings", "/sessions/0", "/sessions", "/fields", "/fields/plan 1"):
    for number, form in enumerate(forms):
        def change(file):
            old = file.get(name)
            del file[name]
            form(file, name, old)
        odd(f"{name} form {number}", change)
)";

TEST_F(Hdf5InteroperabilityTest, NeverReadsLinkedFilesForOddFiles) {
  const auto plan = make_plan_with_rooms(6, {{8, 9}});
  auto others = make_results(plan, 0, 6);
  for (PlanResult& result : others) ++result.iterations;
  auto other_plan = plan;
  other_plan.settings["solver"] = "other";
  ResultStore other({directory / "other.h5", OpenMode::create}, other_plan, {{"host", "other"}});
  other.store(others);
  other.close({});
  make_closed(plan, 4);
  run_python(make_odd_files);
  std::size_t files = 0;
  for (const auto& entry : fs::directory_iterator(directory / "odd")) {
    SCOPED_TRACE(entry.path().filename());
    ++files;
    const auto read = [&] {
      EXPECT_LE(count_correct_results(entry.path(), plan), 4u);
      const ResultReader reader(entry.path());
      for (const Attributes& attributes : reader.sessions())
        EXPECT_THAT(attributes, Not(Contains(std::pair("host", "other"))));
      EXPECT_THAT(reader.settings(), Not(Contains(std::pair("solver", "other"))));
    };
    const auto message = error_message(read);
    EXPECT_TRUE(message != "(no error)" || !entry.path().filename().string().starts_with("_rows "));
    (void)error_message([&] { (void)repair_results(entry.path()); });
    (void)error_message(read);
  }
  EXPECT_EQ(files, 7 * 10 + 7 * (11 + 10));
}

using ResultReaderTest = StoreTest;

TEST_F(ResultReaderTest, KeepsHostSettingForHdf5ErrorOutput) {
  make_closed(make_plan(1, {{8, 9}}), 1);
  static int printed = 0;
  const auto count = [](hid_t, void*) -> herr_t { return ++printed, 0; };
  H5E_auto2_t before = nullptr;
  void* of_before = nullptr;
  H5Eget_auto2(H5E_DEFAULT, &before, &of_before);
  H5Eset_auto2(H5E_DEFAULT, count, nullptr);
  write_bytes(directory / "odd.h5", "\x89HDF\r\n\x1a\n and no more");
  EXPECT_TRUE(ResultReader(file).field(0).has_value());
  EXPECT_NE(error_message([&] { ResultReader reader(directory / "odd.h5"); }), "(no error)");
  EXPECT_EQ(printed, 0);
  EXPECT_LT(H5Fopen("/nonexistent.h5", H5F_ACC_RDONLY, H5P_DEFAULT), 0);
  EXPECT_EQ(printed, 1);
  H5Eset_auto2(H5E_DEFAULT, before, of_before);
}

TEST_F(ResultReaderTest, FailsWhenFileChangesWhileReading) {
  const TestPlan plan = make_plan(3000);
  make_closed(plan, plan.ids.size());
  const ResultReader reader(file);
  damage_row(plan, 2500);
  std::size_t taken = 0;
  EXPECT_THAT(error_message([&] { reader.for_each_row([&](const PlanResult&) { ++taken; }); }),
              Mentions({file.string(), "changed"}));
  EXPECT_LE(taken, 2500u);
}

TEST_F(ResultReaderTest, RejectsMissingOrForeignFile) {
  EXPECT_THAT(error_message([] { ResultReader("/nonexistent/r.h5"); }),
              AllOf(Mentions("/nonexistent/r.h5"), Not(Mentions("HDF5"))));
  const std::string text_file = fs::canonical("/proc/self/status").string();
  EXPECT_THAT(error_message([&] { ResultReader reader(text_file); }),
              Mentions({text_file, "HDF5"}));
}

}  // namespace
}  // namespace wallheat::store_test
