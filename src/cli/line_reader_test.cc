#include "cli/line_reader.h"

#include <algorithm>
#include <cstring>

#include <gtest/gtest.h>

#include "runtime/test_executor.h"

namespace ron::cli {
namespace {

using runtime::Running;

// A file in memory; reading it is all it can do.
class TextFile final : public platform::File {
 public:
  explicit TextFile(std::string text) : text_(std::move(text)) {}
  platform::Task<base::Result<base::Buffer>> read_at(std::uint64_t offset,
                                                     base::Buffer into) override {
    const std::size_t left = text_.size() - std::min<std::size_t>(offset, text_.size());
    into.resize(std::min(left, into.size()));
    if (into.size() > 0) std::memcpy(into.data(), text_.data() + offset, into.size());
    co_return std::move(into);
  }
  std::optional<std::size_t> try_read_at(std::uint64_t, base::MutableBytes) noexcept override {
    return std::nullopt;
  }
  platform::Task<base::Result<std::vector<base::Buffer>>> write_gather(
      std::uint64_t, std::vector<base::Buffer>) override {
    co_return base::fail(base::Code::Internal, "not for writing");
  }
  platform::Task<base::Result<void>> sync() override { co_return base::Result<void>(); }
  platform::Task<base::Result<std::uint64_t>> size() override { co_return text_.size(); }
  platform::Task<base::Result<void>> truncate(std::uint64_t) override {
    co_return base::Result<void>();
  }
  base::Result<bool> try_lock(platform::FileLock) override { return true; }

 private:
  std::string text_;
};

std::vector<std::string> lines_of(std::string text) {
  runtime::TestCores cores;
  LineReader reader(std::make_unique<TextFile>(std::move(text)));
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
