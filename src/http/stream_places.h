// StreamPlaces: how many event streams a service has open, in all and of each client.
//
// A stream lasts for as long as its client likes, so nothing but these two bounds keeps one client
// from taking every place there is.
#pragma once

#include <atomic>
#include <cstdint>
#include <string>

#include "base/result.h"
#include "config/key.h"
#include "runtime/meter.h"
#include "runtime/permit.h"
#include "runtime/shares.h"

namespace ron::http {

struct StreamSettings {
  std::uint64_t most = 0;
  std::uint64_t most_of_one = 0;  // tenant, or address
};

// `max_streams` and `max_streams_per_tenant`, to include in a service's section under `sse.`. Both
// are hot: the next stream sees a change.
config::Group<StreamSettings> stream_keys();

// Any thread. Outlives its places.
class StreamPlaces {
 public:
  StreamPlaces(runtime::Meters& meters, const StreamSettings& settings);
  StreamPlaces(const StreamPlaces&) = delete;
  StreamPlaces& operator=(const StreamPlaces&) = delete;

  // Held for as long as the stream is open.
  struct [[nodiscard]] Place {
    runtime::Limit::Permit permit;
    runtime::Shares<std::string>::Place share;
  };
  // `share` is share_of() the request; one that is empty is held to the bound of all only. Busy
  // says which of the bounds was reached, and whose share.
  base::Result<Place> enter(const std::string& share);

  void apply(const StreamSettings& settings) noexcept;
  [[nodiscard]] std::size_t open() const noexcept { return all_.used(); }

 private:
  runtime::Limit all_;
  std::atomic<std::uint64_t> most_of_one_;
  runtime::Shares<std::string> shares_;
  runtime::Counter& full_;
  runtime::Counter& share_full_;
};

}  // namespace ron::http
