#include "cli/name_list.h"

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include "b3/hash.h"

namespace ron::cli {
namespace {

TEST(NameList, WritesLinesAsB3sumDoes) {
  const base::ObjectId id = b3::hash({});
  EXPECT_EQ(list_line({id, "a b"}), id.text() + "  a b\n");
  EXPECT_EQ(list_line({id, "a\nb\\"}), "\\" + id.text() + "  a\\nb\\\\\n");
}

TEST(NameList, ReadsBackEveryName) {
  EXPECT_TRUE(rc::check([](std::string name) {
    std::erase(name, '\0');
    RC_PRE(!name.empty());
    const base::ObjectId id = b3::hash(base::as_bytes(name));
    std::string line = list_line({id, name});
    RC_ASSERT(line.ends_with('\n'));
    line.pop_back();
    RC_ASSERT(line.find('\n') == std::string::npos);
    const auto read = parse_list_line(line);
    RC_ASSERT(read.has_value());
    RC_ASSERT(read->id == id);
    RC_ASSERT(read->name == name);
  }));
}

TEST(NameList, RefusesWhatIsNotALine) {
  const std::string id = b3::hash({}).text();
  for (const std::string& line : {std::string(), std::string("b3:12  a"), id, id + " a", id + "  ",
                                  "\\" + id + "  a\\x", "\\" + id + "  a\\"}) {
    EXPECT_FALSE(parse_list_line(line)) << line;
  }
}

TEST(NameList, PortableNamesStayInside) {
  EXPECT_EQ(portable_name("/home/me/file"), "home/me/file");
  EXPECT_EQ(portable_name("./tree//a/./b"), "tree/a/b");
  EXPECT_EQ(portable_name("../up/a"), "up/a");
  EXPECT_EQ(portable_name("a/../b"), "b");
  EXPECT_TRUE(rc::check([](const std::vector<std::string>& words) {
    std::string path;
    for (const std::string& word : words) path += (word.size() % 3 == 0 ? ".." : word) + "/";
    RC_ASSERT(check_inside(portable_name(path)).has_value());
  }));
}

TEST(NameList, NamesThatLeadOutAreRefused) {
  for (const char* name : {"/etc/passwd", "..", "../x", "a/../../x", "a/..", "a/"}) {
    EXPECT_FALSE(check_inside(name)) << name;
  }
  for (const char* name : {"a", "a/b", "..a", "a../b", "..."}) {
    EXPECT_TRUE(check_inside(name)) << name;
  }
}

}  // namespace
}  // namespace ron::cli
