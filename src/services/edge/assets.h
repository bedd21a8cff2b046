// Assets: what was filled from origins, and how a request for it is answered (RFC 9111).
//
//   fresh in memory   at once, on the connection's core
//   fresh on disk     loaded by a worker, once for all who ask; large ones are streamed
//   stale             the origin is asked whether it is still right
//   unknown           filled by a worker, once for all who ask
//
// Those who ask for the same at once share one fill, as far as they would have got the same: an
// answer that may not be kept goes to the one whose fill it was; one that varies to those who have
// the same in the fields it varies by; a 404, and an error after the origin was asked, to those who
// have the same in all fields that go to origins. The others fill again: each its own, or once for
// all who have the same fields.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>

#include "base/result.h"
#include "http/request.h"
#include "http/response.h"
#include "platform/task.h"
#include "runtime/shutdown.h"
#include "services/edge/asset_filler.h"
#include "services/edge/asset_store.h"
#include "services/edge/parts.h"
#include "services/edge/url_table.h"

namespace ron::edge {

// In the order of metrics::kCacheResults.
enum class CacheResult : std::uint8_t { Hit, Miss, Stale, Revalidated, Negative };

// Made and opened on cores[0]; asked on any core.
class Assets {
 public:
  explicit Assets(EdgeParts parts);
  Assets(const Assets&) = delete;
  Assets& operator=(const Assets&) = delete;

  // Before listeners and tasks. Not cancel-safe.
  platform::Task<base::Result<>> open();
  // On cores[0], at the start and after a reload.
  void apply(const EdgeConfig& config);

  // The answer to GET or HEAD. Cancel-safe.
  platform::Task<http::Response> get(http::Request* request);

  // Forgets what is one of those, in memory and on disk; how many there were. It stays forgotten
  // after a crash; StorageBusy if that is not sure. Cancel-safe.
  platform::Task<base::Result<std::uint64_t>> purge(std::function<bool(const Asset&)> is_one,
                                                    runtime::Deadline deadline);

  [[nodiscard]] const UrlTable& table() const noexcept { return table_; }
  // Null in amnesia mode.
  [[nodiscard]] AssetStore* store() noexcept { return store_.get(); }
  [[nodiscard]] const AssetStore* store() const noexcept { return store_.get(); }
  [[nodiscard]] std::uint64_t counted(CacheResult result) const noexcept {
    return results_[static_cast<std::size_t>(result)]->value();
  }

 private:
  // A request on its way; lives in its handler's frame.
  struct Visit {
    http::Request* request;
    AssetRequest wanted;
    SettingsPtr settings;
    VaryMask vary{};     // of what is known of the URL
    AssetPtr copy{};     // that may be used, or checked
    bool alone = false;  // shares its fill with nobody
    // The disk does not give the copy just now. What an origin says instead passes through, and the
    // copy stays for later.
    bool is_unreadable = false;
  };

  // NotFound and IntegrityFail: the copy is gone or damaged, and forgotten. Whatever else goes
  // wrong is no reason to forget it.
  platform::Task<base::Result<http::Response>> from_copy(Visit* visit, AssetPtr asset,
                                                         CacheResult result);
  platform::Task<base::Result<http::Response>> stream(Visit* visit, AssetPtr asset,
                                                      volume::ObjectHandle object,
                                                      CacheResult result);
  platform::Task<http::Response> fill(Visit* visit);
  platform::Task<base::Result<FilledPtr>> fill_once(Visit* visit, std::uint64_t order);
  // Whether what another request got is for this one, too; if not, with whom it fills next.
  static bool may_share(Visit& visit, const Filled& filled);
  // From a copy that came while the request waited for something else; nothing: there is none.
  platform::Task<std::optional<http::Response>> from_new_copy(Visit* visit);
  platform::Task<base::Result<http::Response>> from_fill(Visit* visit, FilledPtr filled);
  // A copy that is past its time is better than this error, if everyone allows it.
  platform::Task<http::Response> after_error(Visit* visit, base::Error error);
  [[nodiscard]] bool may_serve_on_error(const Visit& visit) const;
  static void note_unusable(Visit& visit, base::Code why);
  http::Response absent(const Visit& visit, const Asset& asset, CacheResult result);
  void finish(http::Response& response, const Asset& asset, CacheResult result);
  void forget(const Asset& asset);
  platform::Task<base::Result<kit::RepresentationPtr>> load(AssetPtr asset,
                                                            runtime::Deadline deadline);
  // What a loader does.
  platform::Task<base::Result<kit::RepresentationPtr>> read(AssetPtr asset);

  EdgeParts parts_;
  UrlTable table_;
  std::unique_ptr<AssetStore> store_;
  AssetFiller filler_;
  std::atomic<std::uint64_t> orders_ = 1;
  std::array<runtime::Counter*, metrics::kCacheResults.size()> results_;
};

}  // namespace ron::edge
