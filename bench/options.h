// What the clients of benchmarks share: their options, key=value, and how they give up.
#pragma once

#include <cerrno>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <string>
#include <string_view>

#include <arpa/inet.h>
#include <netinet/in.h>

namespace ron::bench {

[[noreturn]] inline void fail(const std::string& why) {
  std::fprintf(stderr, "%s: %s\n", program_invocation_short_name, why.c_str());
  std::exit(2);
}

class Options {
 public:
  Options(int count, char** arguments) {
    for (int i = 1; i < count; ++i) {
      const std::string_view text = arguments[i];
      const auto equals = text.find('=');
      if (equals == std::string_view::npos) fail(std::string(text) + " is not key=value");
      values_[std::string(text.substr(0, equals))] = text.substr(equals + 1);
    }
  }

  std::string text(const std::string& key, const std::string& otherwise = {}) const {
    const auto found = values_.find(key);
    return found == values_.end() ? otherwise : found->second;
  }
  double number(const std::string& key, double otherwise) const {
    const auto found = values_.find(key);
    return found == values_.end() ? otherwise : std::strtod(found->second.c_str(), nullptr);
  }
  std::chrono::nanoseconds seconds(const std::string& key, double otherwise) const {
    return std::chrono::duration_cast<std::chrono::nanoseconds>(
        std::chrono::duration<double>(number(key, otherwise)));
  }

 private:
  std::map<std::string, std::string> values_;
};

inline sockaddr_in address_of(const std::string& host, std::uint16_t port) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(port);
  if (inet_pton(AF_INET, host.c_str(), &address.sin_addr) != 1) fail(host + " is not an address");
  return address;
}

// Of `to`, HOST:PORT.
inline sockaddr_in address_in(const std::string& to) {
  const auto colon = to.rfind(':');
  if (colon == std::string::npos) fail("to=HOST:PORT is missing");
  return address_of(to.substr(0, colon),
                    static_cast<std::uint16_t>(std::stoul(to.substr(colon + 1))));
}

}  // namespace ron::bench
