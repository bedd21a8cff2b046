#include "http/stream_places.h"

#include <utility>

#include "http/metric_names.h"

namespace ron::http {

using base::Code;
using base::fail;

config::Group<StreamSettings> stream_keys() {
  using config::Reload;
  using S = StreamSettings;
  return {
      config::count_key("max_streams", &S::most, "256", {.min = "1", .max = "65536"}, Reload::Hot,
                        "event streams open at once before 429 Busy"),
      config::count_key("max_streams_per_tenant", &S::most_of_one, "32",
                        {.min = "1", .max = "65536"}, Reload::Hot,
                        "event streams of one tenant, or of one address without a capability, "
                        "before 429 Busy"),
  };
}

StreamPlaces::StreamPlaces(runtime::Meters& meters, const StreamSettings& settings)
    : all_(settings.most),
      most_of_one_(settings.most_of_one),
      full_(meters.counter(metrics::kEventStreamsRefusedTotal, {"all"})),
      share_full_(meters.counter(metrics::kEventStreamsRefusedTotal, {"share"})) {}

void StreamPlaces::apply(const StreamSettings& settings) noexcept {
  all_.set_most(settings.most);
  most_of_one_.store(settings.most_of_one, std::memory_order_relaxed);
}

base::Result<StreamPlaces::Place> StreamPlaces::enter(const std::string& share) {
  const std::uint64_t most = most_of_one_.load(std::memory_order_relaxed);
  // The share first: whoever has all of its own is told so, also when everything is taken.
  Place place;
  if (!share.empty()) place.share = shares_.try_enter(share, most);
  if (!share.empty() && !place.share) {
    share_full_.add();
    return fail(base::Error(Code::Busy,
                            "this tenant or address has all the event streams it may "
                            "have")
                    .with("share_of", share)
                    .with("max_streams_per_tenant", std::to_string(most)));
  }
  place.permit = all_.try_acquire();
  if (place.permit) return place;
  full_.add();
  return fail(base::Error(Code::Busy, "too many event streams are open")
                  .with("streams", std::to_string(all_.most())));
}

}  // namespace ron::http
