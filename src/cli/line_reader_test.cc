#include "cli/line_reader.h"

#include <algorithm>
#include <cstring>

#include <gtest/gtest.h>

#include "runtime/test_executor.h"

namespace ron::cli {
namespace {

using runtime::Running;

// A text in memory.
class Text {
 public:
  explicit Text(std::string text) : text_(std::move(text)) {}
  platform::Task<base::Result<base::Buffer>> read(base::Buffer into) {
    into.resize(std::min(text_.size() - offset_, into.size()));
    if (into.size() > 0) std::memcpy(into.data(), text_.data() + offset_, into.size());
    offset_ += into.size();
    co_return std::move(into);
  }

 private:
  std::string text_;
  std::size_t offset_ = 0;
};

std::vector<std::string> lines_of(std::string text) {
  runtime::TestCores cores;
  Text source(std::move(text));
  LineReader reader([&source](base::Buffer into) { return source.read(std::move(into)); });
  std::vector<std::string> lines;
  for (;;) {
    Running next(cores[0], reader.next());
    cores.run();
    if (!next.value()) lines.push_back(next.value().error().message);
    if (!next.value() || !*next.value()) return lines;
    lines.push_back(**next.value());
    EXPECT_EQ(reader.number(), lines.size());
  }
}

TEST(LineReader, EndsLinesAtLineBreaksOnly) {
  using Lines = std::vector<std::string>;
  EXPECT_EQ(lines_of(""), Lines());
  EXPECT_EQ(lines_of("a\n\nb c\r\n"), Lines({"a", "", "b c\r"}));
  EXPECT_EQ(lines_of("a\nlast"), Lines({"a", "last"}));
}

TEST(LineReader, ReadsBeyondOneBlock) {
  std::string text;
  std::vector<std::string> wanted;
  for (int i = 0; i < 30000; ++i) {
    wanted.push_back("line " + std::to_string(i));
    text += wanted.back() + "\n";
  }
  EXPECT_EQ(lines_of(text), wanted);
}

TEST(LineReader, RefusesLinesWithoutEnd) {
  const auto lines = lines_of("short\n" + std::string(3 * LineReader::kLongestLine, 'x'));
  ASSERT_EQ(lines.size(), 2U);
  EXPECT_EQ(lines[1], "line 2 is too long");
}

}  // namespace
}  // namespace ron::cli
