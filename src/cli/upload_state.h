// What is remembered of an upload under way, so that the next put of the same file continues it.
//
// One file per upload in a directory of the user (0700, files 0600), named by a hash of what it is
// for: server, absolute path, size and modification time. A changed file has another name and is
// uploaded from its beginning. Synchronous, so on the blocking pool.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/result.h"

namespace ron::cli {

// What an upload is for.
struct UploadKey {
  std::string url;
  std::string path;  // absolute
  std::uint64_t bytes = 0;
  std::int64_t modified_ns = 0;
  friend bool operator==(const UploadKey&, const UploadKey&) = default;
};

class UploadStates {
 public:
  using Environment = std::vector<std::pair<std::string, std::string>>;

  explicit UploadStates(std::string directory) : directory_(std::move(directory)) {}
  // $XDG_STATE_HOME/ron/uploads or ~/.local/state/ron/uploads; none without a home.
  static std::optional<UploadStates> of_user(const Environment& environment);

  // The upload's id; none when nothing usable is remembered.
  [[nodiscard]] std::optional<std::string> find(const UploadKey& key) const;
  [[nodiscard]] base::Result<void> remember(const UploadKey& key, const std::string& upload) const;
  void forget(const UploadKey& key) const;

 private:
  [[nodiscard]] std::string file_of(const UploadKey& key) const;

  std::string directory_;
};

}  // namespace ron::cli
