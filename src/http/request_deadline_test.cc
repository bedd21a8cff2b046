#include "http/request_deadline.h"

#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "http/head.h"

namespace ron::http {
namespace {

using namespace std::chrono_literals;

// Stands at 2026-03-01T12:00:00.500Z.
class FixedClock final : public platform::Clock {
 public:
  [[nodiscard]] platform::TimePoint monotonic() const noexcept override { return {}; }
  [[nodiscard]] std::int64_t unix_ms() const noexcept override { return 1'772'366'400'500; }
};

std::optional<base::Duration> asked(std::string_view lines) {
  const std::string text = "GET / HTTP/1.1\r\nHost: x\r\n" + std::string(lines) + "\r\n";
  RequestHead head;
  EXPECT_EQ(parse_head(text, head).progress, Progress::Done) << lines;
  return requested_time(head, FixedClock());
}

TEST(RequestDeadline, WhatAClientSaysIsUnderstood) {
  struct Case {
    std::string_view lines;
    base::Duration time;
  };
  for (const Case& each : std::vector<Case>{
           {"Request-Timeout: 2\r\n", 2s},
           {"request-timeout: 0.25\r\n", 250ms},
           {"Request-Timeout: 1.0009999\r\n", 1s},
           {"Request-Timeout: 0\r\n", 0s},
           {"Request-Timeout: 999999999999\r\n", 24h},
           {"Deadline: 2026-03-01T12:00:03Z\r\n", 2500ms},
           {"Deadline: 2026-03-01T13:00:03.75+01:00\r\n", 3250ms},
           {"Deadline: 1772366402\r\n", 1500ms},
           {"Deadline: 1772366402.25\r\n", 1750ms},
           {"Deadline: 2026-03-01T11:00:00Z\r\n", 0s},
           {"Request-Timeout: 3\r\nRequest-Timeout: 2\r\n", 2s},
           {"Request-Timeout: 3\r\nDeadline: 1772366401.5\r\n", 1s},
           {"Request-Timeout: x\r\nDeadline: 1772366401.5\r\n", 1s},
       }) {
    EXPECT_EQ(asked(each.lines), each.time) << each.lines;
  }
}

TEST(RequestDeadline, WhatIsNoTimeIsPassedOver) {
  for (const std::string_view value :
       {"", "-1", "+2", "2s", "2.", ".5", "1e3", "0x2", "2 3", "1,5", "9999999999999", "nan"}) {
    EXPECT_EQ(asked("Request-Timeout: " + std::string(value) + "\r\n"), std::nullopt) << value;
  }
  for (const std::string_view value :
       {"", "tomorrow", "2026-03-01", "2026-02-30T12:00:00Z", "Sun, 06 Nov 1994 08:49:37 GMT"}) {
    EXPECT_EQ(asked("Deadline: " + std::string(value) + "\r\n"), std::nullopt) << value;
  }
  EXPECT_EQ(asked(""), std::nullopt);
}

}  // namespace
}  // namespace ron::http
