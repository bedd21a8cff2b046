// What the commands of the registry do alike: its head and its log, small files.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"
#include "base/value.h"
#include "chain/change.h"
#include "cli/documents.h"
#include "cli/session.h"
#include "platform/task.h"

namespace ron::cli {

// Cancel-safe, as everything here.
platform::Task<base::Result<chain::Head>> get_head(Session* session);

// Entries from version `from` on, or from the first that is there.
struct LogEntry {
  std::uint64_t version = 0;
  std::string bytes;
};
struct LogPage {
  std::vector<LogEntry> entries;
  chain::Head head;
  std::optional<std::uint64_t> next;  // what the page after it begins with
};
platform::Task<base::Result<LogPage>> get_log_page(Session* session,
                                                   std::optional<std::uint64_t> from,
                                                   std::uint64_t limit);

// A file of at most `most` bytes, or standard input for `-`. Synchronous.
base::Result<std::string> read_input(const std::string& name, std::size_t most);
// The bytes a document holds at `key` as base64.
base::Result<std::string> bytes_at(const base::Value& document, std::string_view key);

}  // namespace ron::cli
