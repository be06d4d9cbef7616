#include <sys/resource.h>
#include <sys/stat.h>

#include <fstream>
#include <limits>
#include <utility>

#include "core/input_file.hpp"
#include "core/npy.hpp"
#include "core/plan_files.hpp"
#include "support/error_message.hpp"
#include "support/matchers.hpp"
#include "support/temporary_directory.hpp"
#include "wallheat/error.hpp"
#include "wallheat/floor_plan_files.hpp"

namespace wallheat {
namespace {

/// An NPY file of version 1.0 with any header text and data.
std::string npy_file(const std::string& dictionary, const std::string& data) {
  std::string header = dictionary + "\n";
  std::string file = "\x93NUMPY";
  file += '\x01';
  file += '\0';
  file += static_cast<char>(header.size() % 256);
  file += static_cast<char>(header.size() / 256);
  return file + header + data;
}

std::string header(const std::string& dtype, const std::string& shape,
                   const std::string& order = "False") {
  return "{'descr': '" + dtype + "', 'fortran_order': " + order + ", 'shape': " + shape + ", }";
}

template <class T>
std::string bytes(const std::vector<T>& values) {
  return {reinterpret_cast<const char*>(values.data()), values.size() * sizeof(T)};
}

const std::string good_domain =
    npy_file(header("<f8", "(2, 3)"), bytes<double>({1, 2, 3, 4, 5, 6}));
const std::string good_interior =
    npy_file(header("|b1", "(2, 3)"), bytes<char>({0, 1, 0, 1, 1, 0}));

class FloorPlanFilesTest : public testing::Test {
 protected:
  void write(const std::string& name, const std::string& content) {
    std::ofstream(directory_ / name, std::ios::binary) << content;
  }
  FloorPlan load(const std::string& domain, const std::string& interior) {
    write("7_domain.npy", domain);
    write("7_interior.npy", interior);
    return load_floor_plan(directory_.path(), "7");
  }
  /// Returns the error message for a malformed plan.
  std::string error_message(const std::string& domain, const std::string& interior) {
    return error_message_of<InputError>([&] { (void)load(domain, interior); });
  }

  TemporaryDirectory directory_;
};

TEST_F(FloorPlanFilesTest, RejectsShapeWhenFileIsTooShort) {
  write("7_domain.npy", npy_file(header("<f8", "(200000, 300000)"), bytes<double>({1, 2})));
  EXPECT_THROW((void)floor_plan_shape(directory_.path(), "7"), InputError);
  write("7_domain.npy", good_domain);
  EXPECT_EQ(floor_plan_shape(directory_.path(), "7"), (GridShape{2, 3}));
}

TEST_F(FloorPlanFilesTest, ReadsEveryDtypeThatFloat64CanHold) {
  const auto expect = [&](const std::string& dtype, auto values) {
    using Value = typename decltype(values)::value_type;
    const auto domain = npy_file(header(dtype, "(2, 3)"), bytes<Value>(values));
    EXPECT_EQ(load(domain, good_interior).domain.cells,
              std::vector<double>(values.begin(), values.end()))
        << dtype;
    const auto mask =
        npy_file(header(dtype, "(2L, 3L)"), bytes<Value>({0, 1, 0, 1, 1, 0}));  // as Python 2
    EXPECT_EQ(load(good_domain, mask).interior.cells, (std::vector<std::uint8_t>{0, 1, 0, 1, 1, 0}))
        << dtype;
  };
  expect("<f8", std::vector<double>{1, 2.5, 3, -4e299, 5, 6});
  expect("<f4", std::vector<float>{1, 2, 3, 4.5, 5, 6});
  expect("|i1", std::vector<std::int8_t>{-128, 5, 25, 1, 2, 127});
  expect("|u1", std::vector<std::uint8_t>{0, 5, 25, 1, 2, 255});
  expect("<i2", std::vector<std::int16_t>{0, 5, 25, 1, 2, 3});
  expect("<u2", std::vector<std::uint16_t>{0, 5, 25, 1, 2, 3});
  expect("<i4", std::vector<std::int32_t>{0, -5, 25, 1, 2, 3});
  expect("<u4", std::vector<std::uint32_t>{0, 5, 25, 1, 2, ~0U});
  expect("<i8", std::vector<std::int64_t>{0, 5, 25, 1, 2, -(1LL << 53)});
  expect("<u8", std::vector<std::uint64_t>{0, 5, 25, 1, 2, 1ULL << 63});
  const auto other = npy_file(header("|u1", "(2, 3)"), bytes<char>({0, 7, 0, 1, 1, 0}));
  EXPECT_EQ(load(good_domain, other).interior(0, 1), 1) << "any value that is not 0 is interior";
  std::string version_2 = good_domain;
  version_2[6] = 2;
  version_2.insert(10, 2, '\0');
  EXPECT_EQ(load(version_2, good_interior).domain.cells,
            load(good_domain, good_interior).domain.cells);
}

TEST_F(FloorPlanFilesTest, ReadsFortranOrder) {
  const FloorPlan plan =
      load(npy_file(header("<f8", "(2, 3)", "True"), bytes<double>({1, 4, 2, 5, 3, 6})),
           npy_file(header("|b1", "(2, 3)", "True"), bytes<char>({0, 1, 1, 1, 0, 0})));
  EXPECT_EQ(plan.domain.cells, (std::vector<double>{1, 2, 3, 4, 5, 6}));
  EXPECT_EQ(plan.interior.cells, (std::vector<std::uint8_t>{0, 1, 0, 1, 1, 0}));
}

TEST_F(FloorPlanFilesTest, NamesFileOrCellWhenMalformed) {
  struct Case {
    std::string domain;
    std::string interior;
    Facts facts;
  };
  const double nan = std::numeric_limits<double>::quiet_NaN();
  const double infinity = std::numeric_limits<double>::infinity();
  const std::string data = bytes<double>({1, 2, 3, 4, 5, 6});
  const std::vector<Case> cases = {
      {"", good_interior, {"7_domain.npy", "NPY file"}},
      {good_domain.substr(0, 40), good_interior, {"7_domain.npy", "truncated", "header"}},
      {good_domain.substr(0, good_domain.size() - 1),
       good_interior,
       {"7_domain.npy", "truncated", "2 x 3", "47 bytes"}},
      {good_domain + "x", good_interior, {"7_domain.npy", "trailing", "2 x 3", "49 bytes"}},
      {good_domain, good_interior + "xyz", {"7_interior.npy", "trailing", "2 x 3", "9 bytes"}},
      {npy_file(header("<f2", "(2, 3)"), data.substr(0, 12)),
       good_interior,
       {"7_domain.npy", "<f2", "float64"}},
      {npy_file(header("<i8", "(2, 3)"), bytes<std::int64_t>({1, 2, 3, 4, (1LL << 53) + 1, 6})),
       good_interior,
       {"7_domain.npy", "row 1", "column 1", "9007199254740993", "float64"}},
      {npy_file(header("<i8", "(2, 3)", "True"),
                bytes<std::int64_t>({1, 2, 3, 4, std::numeric_limits<std::int64_t>::max(), 6})),
       good_interior,
       {"7_domain.npy", "row 0", "column 2", "9223372036854775807", "float64"}},
      {npy_file(header("<u8", "(2, 3)"), bytes<std::uint64_t>({~0ULL, 2, 3, 4, 5, 6})),
       good_interior,
       {"7_domain.npy", "row 0", "column 0", "18446744073709551615", "float64"}},
      {good_domain,
       npy_file(header("<f8", "(2, 3)"), bytes<double>({0, 1, 0, 1, 0.5, 0})),
       {"7_interior.npy", "row 1", "column 1", "0"}},
      {good_domain,
       npy_file(header("<f8", "(2, 3)"), bytes<double>({0, 1, nan, 1, 1, 0})),
       {"7_interior.npy", "row 0", "column 2", "1"}},
      {good_domain, npy_file(header("<c8", "(2, 3)"), data), {"7_interior.npy", "<c8"}},
      {npy_file(header("<f8", "(6,)"), data), good_interior, {"7_domain.npy", "1 dimension"}},
      {npy_file(header("<f8", "(3, 2)"), data),
       good_interior,
       {"7_interior.npy", "2 x 3", "3 x 2"}},
      {npy_file(header("<f8", "(2, 3)"), bytes<double>({1, 2, nan, 4, 5, 6})),
       good_interior,
       {"7_domain.npy", "row 0", "column 2", "NaN"}},
      {npy_file(header("<f8", "(2, 3)"), bytes<double>({1, 2, 3, 4, -infinity, 6})),
       good_interior,
       {"7_domain.npy", "row 1", "column 1", "infinite"}},
      {npy_file(header("<f8", "(2, 3)"), bytes<double>({1, 2, 3, 4, 1e305, 6})),
       good_interior,
       {"7_domain.npy", "row 1", "column 1", "too large"}},
      {npy_file(header("<f8", "(0, 3)"), ""), good_interior, {"7_domain.npy", "0 x 3"}},
      {npy_file(header("<f8", "(18446744073709551615, 2)"), data),
       good_interior,
       {"7_domain.npy", "truncated", "18446744073709551615 x 2"}},
      {npy_file(header("<f8", "(99999999999999999999, 2)"), data),
       good_interior,
       {"7_domain.npy", "NPY header"}},
      {npy_file("{'descr': '<f8', 'shape': (2, 3), }", data),
       good_interior,
       {"7_domain.npy", "NPY header"}},
      {npy_file("{'descr': [('a', '<f8')], 'fortran_order': False, 'shape': (2, 3), }", data),
       good_interior,
       {"7_domain.npy", "structured dtype"}},
      {npy_file("nonsense", data), good_interior, {"7_domain.npy", "NPY header"}},
      {npy_file(header("<f8", "(2, 3)") + std::string(10'000, ' '), data),
       good_interior,
       {"7_domain.npy", "header", "longer"}},
  };
  for (const Case& malformed : cases) {
    EXPECT_THAT(error_message(malformed.domain, malformed.interior), Mentions(malformed.facts));
  }
}

TEST_F(FloorPlanFilesTest, RejectsMissingOrIrregularFiles) {
  write("8_domain.npy", good_domain);
  EXPECT_THAT(error_message_of<InputError>([&] { (void)load_floor_plan(directory_.path(), "8"); }),
              Mentions({"8_interior.npy", "no such file"}));
  std::filesystem::create_directory(directory_ / "9_domain.npy");
  ASSERT_EQ(::mkfifo((directory_ / "10_domain.npy").c_str(), 0666), 0);
  std::filesystem::create_symlink("/dev/zero", directory_ / "11_domain.npy");
  for (const char* id : {"9", "10", "11", "../7"}) {
    EXPECT_THROW((void)load_floor_plan(directory_.path(), id), InputError) << id;
    EXPECT_THROW((void)floor_plan_shape(directory_.path(), id), InputError) << id;
  }
}

/// Returns true if reading the file fails because of a system error, with all facts.
template <class Read>
bool meets_system_error(Read read, const Facts& facts) {
  try {
    read();
  } catch (const InputSystemError& error) {
    EXPECT_THAT(error.what(), Mentions(facts));
    return true;
  } catch (const InputError& error) {
    EXPECT_THAT(error.what(), Mentions(facts));
  }
  return false;
}

TEST_F(FloorPlanFilesTest, DistinguishesSystemErrorFromMalformedFile) {
  write("7_domain.npy", good_domain);
  const std::string file = (directory_ / "7_domain.npy").string();
  const auto load = [](const std::string& path) { return [path] { (void)read_input_file(path); }; };
  rlimit limit{};
  ::getrlimit(RLIMIT_NOFILE, &limit);
  const rlimit none{0, limit.rlim_max};
  ::setrlimit(RLIMIT_NOFILE, &none);
  EXPECT_TRUE(meets_system_error(load(file), {file, "Too many open files"}));
  ::setrlimit(RLIMIT_NOFILE, &limit);
  // Address 0 of a process cannot be read.
  const InputFile memory("/proc/self/mem");
  std::byte byte{};
  EXPECT_TRUE(meets_system_error(
      [&] {
        memory.read_at(0, {&byte, 1});
      },
      {"/proc/self/mem", "Input/output error"}));
  const InputFile opened(file);
  EXPECT_FALSE(meets_system_error([&] { opened.read_at(opened.size(), {&byte, 1}); }, {file}));
  for (const std::string& name :
       {std::string("missing"), std::string(300, 'x'), std::string("7_domain.npy/x")}) {
    const std::string path = (directory_ / name).string();
    EXPECT_FALSE(meets_system_error(load(path), {path})) << "no host can open it";
  }
}

}  // namespace
}  // namespace wallheat
