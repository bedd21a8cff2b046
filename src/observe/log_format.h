// One log line as text: bounded, valid, on one line, whatever bytes are in it.
#pragma once

#include <cassert>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string_view>

#include "observe/field.h"

namespace ron::observe {

// No line has the level kOff: as a threshold it silences all of them.
enum class Level : std::uint8_t { kTrace, kDebug, kInfo, kWarn, kError, kOff };
enum class LogFormat : std::uint8_t { kJson, kText };

std::string_view name(Level level) noexcept;
// The configuration's spellings: trace debug info warn error, json text.
std::optional<Level> parse_level(std::string_view text) noexcept;
std::optional<LogFormat> parse_log_format(std::string_view text) noexcept;

// Bounds of a line. Longer texts are cut and end in "..."; when a line has reached kLineSoftBytes
// its remaining fields are left out and "truncated":true says so.
inline constexpr std::size_t kLogTextBytes = 1024;  // message or value, before escaping
inline constexpr std::size_t kLogServiceBytes = 64;
inline constexpr std::size_t kLogEscapedBytes = 6;  // the most one byte becomes: \u001f
inline constexpr std::size_t kLineSoftBytes = 8 * 1024;
inline constexpr std::size_t kLineBytes = 16 * 1024;
// time, level, punctuation and the end of a line, generously.
inline constexpr std::size_t kLineFixedBytes = 512;
static_assert(kLogEscapedBytes * (kLogTextBytes + kLogServiceBytes) + kLineFixedBytes <=
                  kLineSoftBytes,
              "message and head fit before any field is left out");
static_assert(kLineSoftBytes + Key::kMaxBytes + kLogEscapedBytes * kLogTextBytes +
                      kLineFixedBytes <=
                  kLineBytes,
              "the field that crosses the soft bound still fits");

// A line being written, on the stack. The bounds above mean that it never fills up; were one of
// them wrong, it cuts instead of overflowing.
class LineBuffer {
 public:
  LineBuffer() noexcept {}  // the storage stays uninitialised: 16 KiB per line would cost more

  void append(std::string_view text) noexcept {
    assert(text.size() <= kLineBytes - size_);
    size_ += text.copy(data_ + size_, kLineBytes - size_);
  }
  void append(char c) noexcept { append(std::string_view(&c, 1)); }
  [[nodiscard]] std::size_t size() const noexcept { return size_; }
  [[nodiscard]] std::string_view view() const noexcept { return {data_, size_}; }

 private:
  std::size_t size_ = 0;
  char data_[kLineBytes];
};

struct LineHead {
  std::int64_t unix_ms;
  Level level;
  std::string_view service;
  std::string_view message;
  std::string_view corr_id;  // empty: none
};

// Appends the line and its newline. JSON is one object in UTF-8; text is
//   2024-05-01T12:00:00.000Z INFO  svc-storage listener up addr=127.0.0.1:8081 port=8081
// Bytes that are not UTF-8 become U+FFFD; control characters are escaped in both formats, so
// that no value can start a line of its own or steer a terminal.
void format_line(LineBuffer& out, LogFormat format, const LineHead& head,
                 std::initializer_list<Field> fields) noexcept;

}  // namespace ron::observe
