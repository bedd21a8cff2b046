// For the tests of this folder: a parsed request.
#pragma once

#include <string>
#include <string_view>

#include <gtest/gtest.h>

#include "http/request.h"
#include "http/uri.h"

namespace ron::gateway::test {

// Views into itself: stays where it was made.
class TestRequest {
 public:
  // `lines` are further fields, each ending in CRLF.
  explicit TestRequest(std::string_view method, std::string_view target,
                       std::string_view lines = "", std::string_view peer = "192.0.2.1:5000")
      : text_(std::string(method) + " " + std::string(target) + " HTTP/1.1\r\n" +
              (!lines.starts_with("Host:") ? "Host: ron.example\r\n" : "") + std::string(lines) +
              "\r\n"),
        peer_(platform::Endpoint::parse(peer).value()) {
    EXPECT_EQ(http::parse_head(text_, head_).progress, http::Progress::Done) << text_;
    request_.head = &head_;
    const http::Target parts = http::split_target(head_.target);
    request_.path = parts.path;
    request_.query = parts.query;
    request_.peer = &peer_;
  }
  TestRequest(const TestRequest&) = delete;
  TestRequest& operator=(const TestRequest&) = delete;

  [[nodiscard]] http::Request& operator*() noexcept { return request_; }
  [[nodiscard]] http::Request* operator->() noexcept { return &request_; }

 private:
  const std::string text_;
  const platform::Endpoint peer_;
  http::RequestHead head_;
  http::Request request_;
};

}  // namespace ron::gateway::test
