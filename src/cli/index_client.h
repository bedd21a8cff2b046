// The requests of svc-index about names as functions.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/object_id.h"
#include "base/result.h"
#include "base/value.h"
#include "catalog/name.h"
#include "cli/session.h"
#include "platform/task.h"

namespace ron::cli {

// What a name stands for, as of one of its versions.
struct NameVersion {
  std::string name;
  std::uint64_t version = 0;
  std::optional<base::ObjectId> target;  // none: the name was removed
  std::string type;                      // a media type, or nothing
  std::string at;                        // when, as the server says
  std::map<std::string, std::string> meta;

  [[nodiscard]] std::string ref() const { return name + "@" + std::to_string(version); }
  [[nodiscard]] bool is_tree() const noexcept;
};
// UpstreamFail if the document is something else.
base::Result<NameVersion> parse_name_version(const base::Value& document);

// None when there is no such name or version. Cancel-safe, as everything here.
platform::Task<base::Result<std::optional<NameVersion>>> find_name(Session* session,
                                                                   catalog::NameRef ref);

struct SetName {
  catalog::Name name;
  base::ObjectId target;
  std::string type;
  std::map<std::string, std::string> meta;
  std::optional<std::uint64_t> expected_version;  // VersionSkew if it is at another one; 0: at none
};
// The new version. One that an earlier try has made, whose answer was lost, is not made again.
platform::Task<base::Result<NameVersion>> set_name(Session* session, SetName what);
platform::Task<base::Result<NameVersion>> remove_name(
    Session* session, catalog::Name name, std::optional<std::uint64_t> expected_version);

// Versions below `before`, the newest first.
struct HistoryPage {
  std::vector<NameVersion> versions;
  std::optional<std::uint64_t> next;  // what the next page is below
};
platform::Task<base::Result<HistoryPage>> get_history(Session* session, catalog::Name name,
                                                      std::optional<std::uint64_t> before);

struct NameQuery {
  std::string prefix;
  std::string delimiter;  // empty: all names that begin so
  std::string after;
};
struct NamePage {
  std::vector<NameVersion> names;
  std::vector<std::string> prefixes;
  std::optional<std::string> next;  // the `after` of the next page
};
platform::Task<base::Result<NamePage>> list_names(Session* session, NameQuery query);

}  // namespace ron::cli
