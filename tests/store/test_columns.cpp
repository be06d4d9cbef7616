#include "store/layout.hpp"
#include "store_fixture.hpp"

namespace wallheat::store_test {
namespace {

/// As h5dump and NumPy call it.
std::string name_of(hid_t type) {
  const auto bits = std::to_string(8 * H5Tget_size(type));
  switch (H5Tget_class(type)) {
    case H5T_STRING:
      return "text " + std::to_string(H5Tget_size(type));
    case H5T_ENUM:
      return "enum int" + bits;
    case H5T_FLOAT:
      return "float" + bits;
    default:
      return (H5Tget_sign(type) == H5T_SGN_NONE ? "uint" : "int") + bits;
  }
}

std::vector<std::string> meanings() {
  std::vector<std::string> texts;
#define WALLHEAT_NUMBER(type, name, initial, use, meaning) texts.emplace_back(meaning);
#define WALLHEAT_TEXT(bytes, name, use, meaning) texts.emplace_back(meaning);
#define WALLHEAT_PART(type, name, part, use, meaning) texts.emplace_back(meaning);
#define WALLHEAT_STORED(type, name, initial, meaning) texts.emplace_back(meaning);
  WALLHEAT_RESULT_COLUMNS(WALLHEAT_NUMBER, WALLHEAT_TEXT, WALLHEAT_PART, WALLHEAT_STORED)
#undef WALLHEAT_NUMBER
#undef WALLHEAT_TEXT
#undef WALLHEAT_PART
#undef WALLHEAT_STORED
  return texts;
}

TEST(Columns, stand_in_the_readme_as_they_are_in_the_file) {
  const auto type = store::make_row_type();
  const auto texts = meanings();
  std::string table = "| column of `/rows` | type | unit, meaning |\n|---|---|---|\n";
  ASSERT_EQ(H5Tget_nmembers(type.get()), static_cast<int>(texts.size()));
  std::string names, end;
  for (unsigned i = 0; i < texts.size(); ++i) {
    char* const name = H5Tget_member_name(type.get(), i);
    const store::Handle member(H5Tget_member_type(type.get(), i), H5Tclose, "read a type");
    const std::string its_end = " | " + name_of(member.get()) + " | " + texts[i] + " |\n";
    if (its_end != end) {  // neighbours that say the same share a line
      table += std::exchange(names, "| ") + std::exchange(end, its_end);
      names += name;
    } else {
      names += std::string(", ") + name;
    }
    H5free_memory(name);
  }
  table += names + end;
  EXPECT_THAT(read_bytes(WALLHEAT_STORE_README), testing::HasSubstr(table + "\n"))
      << "put this table into src/store/README.md:\n"
      << table;
}

}  // namespace
}  // namespace wallheat::store_test
