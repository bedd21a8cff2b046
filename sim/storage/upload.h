// UploadModel: an object in parts, as the one client that sends it knows it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <string_view>

#include "base/error.h"
#include "base/limits.h"

namespace ron::sim {

// A client does one thing after the other to its upload, but what it never heard of may still
// happen, up to the end of the service's life. What it was told lasts.
struct UploadModel {
  std::size_t object = 0;
  bool tenants = false;        // a tenant's, else nobody's in particular
  bool names_address = false;  // said beforehand what address it must have
  std::uint64_t length = 0;
  std::string id;                   // empty until the service has said so
  unsigned begun_in = 0;            // which life of the service
  std::set<std::uint64_t> tried;    // parts that may be there
  std::set<std::uint64_t> arrived;  // parts that are
  bool commit_tried = false;
  bool abort_tried = false;
  bool over = false;  // the client has no more use for it

  [[nodiscard]] std::uint64_t parts() const {
    return (length + base::limits::kPartBytes - 1) / base::limits::kPartBytes;
  }
  [[nodiscard]] std::uint64_t part_length(std::uint64_t part) const {
    return part + 1 == parts() ? length - part * base::limits::kPartBytes
                               : base::limits::kPartBytes;
  }
  [[nodiscard]] bool is_whole() const { return arrived.size() == parts(); }
  // It may have ended, so it may be gone.
  [[nodiscard]] bool may_be_gone() const { return commit_tried || abort_tried; }

  // What is wrong with this account of the parts that are there; `[[0,3],[5,5]]`.
  [[nodiscard]] std::optional<std::string> check_arrived(std::string_view ranges) const;
};

}  // namespace ron::sim
