// LineReader: a text file line by line, in memory that does not grow with the file.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "base/result.h"
#include "platform/disk.h"
#include "platform/task.h"

namespace ron::cli {

class LineReader {
 public:
  static constexpr std::size_t kLongestLine = 64 * 1024;

  explicit LineReader(std::unique_ptr<platform::File> file) noexcept : file_(std::move(file)) {}

  // The next line without its line break, none at the end; Malformed for a longer one than
  // kLongestLine. Cancel-safe.
  platform::Task<base::Result<std::optional<std::string>>> next();
  // Of the line that was handed out last, from 1.
  [[nodiscard]] std::uint64_t number() const noexcept { return number_; }

 private:
  std::unique_ptr<platform::File> file_;
  std::string pending_;
  std::size_t begin_ = 0;
  std::uint64_t offset_ = 0;
  std::uint64_t number_ = 0;
  bool ended_ = false;
};

}  // namespace ron::cli
