// LineReader: a text line by line, in memory that does not grow with the text.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <utility>

#include "base/buffer.h"
#include "base/result.h"
#include "platform/task.h"

namespace ron::cli {

class LineReader {
 public:
  static constexpr std::size_t kLongestLine = 64 * 1024;
  // Fills the buffer with what comes next; shorter only at the end.
  using Source = std::move_only_function<platform::Task<base::Result<base::Buffer>>(base::Buffer)>;

  explicit LineReader(Source source) noexcept : source_(std::move(source)) {}

  // The next line without its line break, none at the end; Malformed for a longer one than
  // kLongestLine. Cancel-safe.
  platform::Task<base::Result<std::optional<std::string>>> next();
  // Of the line that was handed out last, from 1.
  [[nodiscard]] std::uint64_t number() const noexcept { return number_; }

 private:
  Source source_;
  std::string pending_;
  std::size_t begin_ = 0;
  std::uint64_t number_ = 0;
  bool ended_ = false;
};

}  // namespace ron::cli
