#include "cli/line_reader.h"

namespace ron::cli {

platform::Task<base::Result<std::optional<std::string>>> LineReader::next() {
  using Line = std::optional<std::string>;
  for (;;) {
    const std::size_t end = pending_.find('\n', begin_);
    if (end != std::string::npos) {
      Line line = pending_.substr(begin_, end - begin_);
      begin_ = end + 1;
      ++number_;
      co_return line;
    }
    pending_.erase(0, std::exchange(begin_, 0));
    if (ended_) {
      if (pending_.empty()) co_return Line();
      ++number_;
      co_return Line(std::exchange(pending_, {}));
    }
    if (pending_.size() > kLongestLine) {
      co_return base::fail(base::Code::Malformed,
                           "line " + std::to_string(number_ + 1) + " is too long");
    }
    auto reading = source_(base::Buffer(kLongestLine));
    const auto read = co_await reading;
    if (!read) co_return base::fail(read.error());
    ended_ = read->size() < kLongestLine;
    pending_ += base::as_text(read->view());
  }
}

}  // namespace ron::cli
