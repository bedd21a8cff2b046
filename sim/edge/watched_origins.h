// WatchedOrigins: stands between the edge and its fetcher. Counts who asks for what at once, fails
// when it is told to, and may have a mistake planted in it.
#pragma once

#include <cstdint>
#include <functional>
#include <list>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "services/edge/fetch.h"
#include "sim/edge/plant.h"
#include "sim/harness/scene.h"

namespace ron::sim {

// Made for one life, which it outlives.
class WatchedOrigins final : public edge::Origins {
 public:
  // `shares` says whether whoever asks for the same at once must share one fill of this.
  using Shares = std::function<bool(const edge::FetchRequest&)>;
  WatchedOrigins(Scene& scene, EdgePlant plant, Shares shares)
      : scene_(scene), plant_(plant), shares_(std::move(shares)) {}

  // Once the fetcher is made.
  void use(edge::Origins& fetcher) noexcept { fetcher_ = &fetcher; }

  base::Result<> check(const edge::FetchRequest& request) override {
    return fetcher_->check(request);
  }
  Task<base::Result<edge::Fetched>> get(edge::FetchRequest request, edge::BodySink* sink,
                                        runtime::Deadline deadline) override;

  // What is wrong by now, if anything is. Whoever was left by all who waited for it may take a
  // moment to notice, so two at once are wrong only if they stay so.
  [[nodiscard]] std::optional<std::string> look() const;
  [[nodiscard]] std::uint64_t fills() const noexcept { return fills_; }

 private:
  // A fill under way.
  struct Fill {
    std::string key;
    bool is_shared;
    TimePoint overlaps_since = platform::kNever;
  };
  class Watch;

  // Requests that waited for a fill that failed ask again, once for each set of fields, whatever
  // others ask meanwhile: fills of that URL are not held against each other for as long as any of
  // those requests may last.
  [[nodiscard]] bool has_failed_lately(const std::string& key) const;
  Task<base::Result<edge::Fetched>> get_planted(edge::FetchRequest request, edge::BodySink* sink,
                                                runtime::Deadline deadline);

  Scene& scene_;
  const EdgePlant plant_;
  const Shares shares_;
  edge::Origins* fetcher_ = nullptr;
  std::list<Fill> running_;
  std::map<std::string, TimePoint> failed_;  // when the last fill of a URL gave nothing
  std::uint64_t fills_ = 0;
};

}  // namespace ron::sim
