// docs/generated holds exactly what the declarations say.
#include <algorithm>
#include <string>

#include <gtest/gtest.h>

#include "app/reference.h"
#include "app/schema.h"
#include "base/units.h"
#include "config/load.h"
#include "platform/posix/files.h"

namespace ron {
namespace {

constexpr std::size_t kPageBytes = base::kMiB;

// The first line in which they differ, as declared and as written.
std::string first_difference(std::string_view declared, std::string_view written) {
  std::size_t line = 1;
  while (!declared.empty() || !written.empty()) {
    const std::string_view ours = declared.substr(0, declared.find('\n'));
    const std::string_view theirs = written.substr(0, written.find('\n'));
    if (ours != theirs) {
      return "line " + std::to_string(line) + "\n  declared: " + std::string(ours) +
             "\n  written:  " + std::string(theirs);
    }
    declared.remove_prefix(std::min(ours.size() + 1, declared.size()));
    written.remove_prefix(std::min(theirs.size() + 1, written.size()));
    ++line;
  }
  return "the end of the file";
}

TEST(GeneratedDocs, SayWhatTheDeclarationsSay) {
  for (const app::Page& page : app::reference_pages()) {
    const std::string name = "docs/generated/" + std::string(page.name) + ".md";
    const auto written =
        platform::posix::read_small_file(std::string(RON_SOURCE_DIR) + "/" + name, kPageBytes);
    ASSERT_TRUE(written) << name << ": " << written.error().message << "; run `make docs`";
    EXPECT_TRUE(page.text == *written)
        << name << " is out of date, run `make docs`: " << first_difference(page.text, *written);
  }
}

TEST(GeneratedDocs, HoldNoPageNobodyMakes) {
  const auto names =
      platform::posix::list_directory(std::string(RON_SOURCE_DIR) + "/docs/generated");
  ASSERT_TRUE(names);
  EXPECT_EQ(names->size(), app::reference_pages().size());
}

TEST(Configuration, EveryDeclarationIsSound) {
  EXPECT_EQ(config::check_declarations(app::schema()).text(), "");
}

}  // namespace
}  // namespace ron
