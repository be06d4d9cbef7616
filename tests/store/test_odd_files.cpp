#include "store/hdf5.hpp"
#include "store/layout.hpp"
#include "store/repair.hpp"
#include "store_fixture.hpp"
#include "support/process.hpp"

// HDF5 files that another program made, or that somebody made to do harm.
namespace wallheat::store_test {
namespace {

namespace fs = std::filesystem;

using OddFile = StoreTest;

/// Makes a file for each thing that may stand under a name that wallheat looks for.
constexpr const char* make_odd_files = R"(
import os, shutil, sys
import h5py, numpy as np

sound = sys.argv[1]
folder = os.path.join(os.path.dirname(sound), "odd")
other = os.path.join(os.path.dirname(sound), "other.h5")
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

def dataset(file, name, old, creation=None, space=None):
    of_field = h5py.h5t.IEEE_F64LE, h5py.h5s.create_simple((4,))
    kind, own = (old.id.get_type(), old.id.get_space()) if isinstance(old, h5py.Dataset) else of_field
    creation = creation or (lambda *_: None)
    options = h5py.h5p.create(h5py.h5p.DATASET_CREATE)
    creation(options, own)
    h5py.h5d.create(file.id, name.encode(), kind, space or own, options)

def link_to_root(file, name, old):
    file["/other"] = h5py.ExternalLink(other, "/")
    file[name] = h5py.SoftLink("/other" + name)

def external_link(file, name, old):
    file[name] = h5py.ExternalLink(other, name)

def external_bytes(file, name, old):
    dataset(file, name, old, lambda options, space: options.set_external(other.encode(), 0, h5py.h5f.UNLIMITED))

def virtual(file, name, old):
    dataset(file, name, old, lambda options, space: options.set_virtual(space, other.encode(), name.encode(), space))

def link_to_itself(file, name, old):
    file[name] = h5py.SoftLink(name)

def group(file, name, old):
    file.create_group(name)

def nothing(file, name, old):
    pass

def unwritten(file, name, old):
    dataset(file, name, old)

def chunked(file, name, old):
    dataset(file, name, old, lambda options, space: options.set_chunk((1,) * space.get_simple_extent_ndims()))

def one(file, name, old):
    dataset(file, name, old, space=h5py.h5s.create(h5py.h5s.SCALAR))

def square(file, name, old):
    dataset(file, name, old, space=h5py.h5s.create_simple((6, 6)))

def huge(file, name, old):
    dataset(file, name, old, lambda options, space: options.set_chunk((100,)), h5py.h5s.create_simple((1 << 50,)))

forms = [link_to_root, external_link, external_bytes, virtual, link_to_itself, group, nothing, unwritten, chunked, one, square, huge]
for name in ("/rows", "/rooms", "/settings", "/sessions/0", "/sessions", "/fields", "/fields/plan 1"):
    for form in forms:
        def change(file):
            old = file.get(name)
            del file[name]
            form(file, name, old)
        odd(f"{name} {form.__name__}", change)
    for number, value in enumerate(values):
        def put(file):
            del file[name]
            file[name] = value
        odd(f"{name} {number}", put)
)";

TEST_F(OddFile, is_refused_or_has_the_right_answers_and_leads_to_no_other_file) {
  if (!has_h5py()) GTEST_SKIP() << "/usr/bin/python3 has no h5py";
  const auto plan = make_plan_with_rooms(6, {{8, 9}});
  auto others = make_results(plan, 0, 6);
  for (PlanResult& result : others) {
    ++result.iterations;
    result.rooms.front().mean_temp += 1;
  }
  auto other_plan = plan;
  other_plan.settings["solver"] = "other";
  auto other = ResultStore::create(directory / "other.h5", other_plan, {{"host", "other"}}, false);
  other.store(others);
  other.close({});
  make_closed(plan, 4);
  ASSERT_EQ(run_python(make_odd_files, file), 0);
  std::size_t files = 0;
  for (const auto& entry : fs::directory_iterator(directory / "odd")) {
    SCOPED_TRACE(entry.path().filename());
    ++files;
    const auto look = [&] {
      EXPECT_LE(right_answers(entry.path(), plan), 4u);
      const ResultReader reader(entry.path());
      for (const Attributes& attributes : reader.sessions())
        EXPECT_THAT(attributes, Not(Contains(std::pair("host", "other"))));
      EXPECT_THAT(reader.settings(), Not(Contains(std::pair("solver", "other"))));
    };
    const auto sentence = refusal(look);
    if (entry.path().filename().string().starts_with("_rows ")) {
      EXPECT_NE(sentence, "(accepted)");
    }
    (void)refusal([&] { (void)repair_results(entry.path()); });
    (void)refusal(look);
  }
  EXPECT_EQ(files, 7 * 10 + 7 * (12 + 10));
}

TEST_F(OddFile, leaves_hdf5_to_its_host_as_it_was) {
  const auto plan = make_plan(1, {{8, 9}});
  make_closed(plan, 1);
  const auto host = run_program({WALLHEAT_HDF5_HOST, file.string(), directory.string()});
  EXPECT_EQ(host.out, "");
  EXPECT_EQ(host.status, 0) << host.err;
  const auto left = store::open_to_read(directory / "left.h5");
  EXPECT_TRUE(store::has_object(left, "/kept"));
}

TEST_F(OddFile, that_changes_while_it_is_read_is_refused) {
  const TestPlan plan = make_plan(3000);
  make_closed(plan, plan.ids.size());
  const ResultReader reader(file);
  damage_row(plan, 2500);
  std::size_t taken = 0;
  EXPECT_THAT(refusal([&] { reader.for_each_row([&](const PlanResult&) { ++taken; }); }),
              HasSubstr("results.h5 changed while it was read"));
  EXPECT_LE(taken, 2500u);
}

}  // namespace
}  // namespace wallheat::store_test
