// Reload: what changed between two configurations, and whether a running process may take it over.
#pragma once

#include <cstdint>
#include <expected>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "config/load.h"

namespace ron::config {

struct Change {
  std::string key;
  Reload reload;
  std::string before;  // as shown to people, secrets redacted
  std::string after;
};

// Changed keys by what they need, in schema order.
struct Changes {
  std::vector<Change> hot;
  std::vector<Change> rebind;
  std::vector<Change> restart;

  [[nodiscard]] bool empty() const noexcept {
    return hot.empty() && rebind.empty() && restart.empty();
  }
};

// Compares effective values; a value that merely moved to another layer did not change. A key that
// only one side has counts as a restart change.
Changes diff(const Config& before, const Config& after);

// Why a reload failed: the label set of *_reload_fail_total{reason}. Io and Rebind are reported by
// callers that read the file and open the listeners.
enum class ReloadFail : std::uint8_t { Parse, Invalid, RestartRequired, Io, Rebind };
std::string_view reason(ReloadFail fail) noexcept;
std::span<const ReloadFail> all_reload_fails() noexcept;

struct ReloadRefused {
  ReloadFail fail;
  std::string message;  // one line, or one line per problem
};

struct Reloaded {
  std::shared_ptr<const Config> config;
  Changes changes;  // its restart list is empty
};

// Loads anew and compares with `current`, which must come from the same schema. All or nothing: one
// changed restart key refuses the whole reload, so that a process never runs on half a file.
std::expected<Reloaded, ReloadRefused> reload(const Schema& schema, const Config& current,
                                              const Inputs& inputs);

}  // namespace ron::config
