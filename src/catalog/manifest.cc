#include "catalog/manifest.h"

#include <algorithm>
#include <cassert>
#include <utility>

#include "base/json.h"
#include "base/rfc3339.h"
#include "catalog/manifest_path.h"
#include "catalog/media_type.h"

namespace ron::catalog {
namespace {

using base::Code;
using base::fail;
using base::Result;

Result<void> check_entry(const ManifestEntry& entry) {
  if (auto sound = check_path(entry.path); !sound) return sound;
  if (entry.mtime_s &&
      std::clamp(*entry.mtime_s, base::kMinUnixS, base::kMaxUnixS) != entry.mtime_s) {
    return fail(Code::Malformed, "the time lies outside the years 0000 to 9999");
  }
  if (const TreeLink* link = entry.link()) return check_link(entry.path, link->target);
  const TreeFile* const file = entry.file();
  if (file == nullptr) return {};
  if (file->length > kMaxTreeBytes) return fail(Code::Malformed, "the length is not below 2^53");
  if (!is_media_type(file->type)) return fail(Code::Malformed, "the type is not a media type");
  return {};
}

// Keys in the order of RFC 8785.
void write(base::JsonWriter& json, const ManifestEntry& entry) {
  json.begin_object();
  const TreeFile* const file = entry.file();
  const TreeLink* const link = entry.link();
  if (file != nullptr) {
    json.key("address").value(file->address.text());
    if (file->exec) json.key("exec").value(true);
    json.key("length").value(file->length);
  } else if (link != nullptr) {
    json.key("link").value(link->target);
  } else {
    json.key("dir").value(true);
  }
  if (entry.mtime_s) json.key("mtime").value(base::print_rfc3339(*entry.mtime_s));
  json.key("path").value(entry.path);
  if (file != nullptr) json.key("type").value(file->type);
  json.end_object();
}

}  // namespace

Result<void> ManifestRules::take(const ManifestEntry& entry) {
  const auto refuse = [&](std::string_view why) {
    return fail(Code::Malformed,
                "entry " + std::to_string(summary_.entries + 1) + ": " + std::string(why));
  };
  if (summary_.entries == kMaxManifestEntries) return refuse("there are too many");
  if (const auto sound = check_entry(entry); !sound) return refuse(sound.error().message);
  if (const auto fits = take_path(entry.path); !fits) return refuse(fits.error().message);
  if (const TreeFile* file = entry.file()) {
    if (file->length > kMaxTreeBytes - summary_.length) {
      return refuse("all files together do not have less than 2^53 bytes");
    }
    summary_.length += file->length;
  }
  ++summary_.entries;
  return {};
}

Result<void> ManifestRules::take_path(const std::string& path) {
  if (!open_.empty() && path == open_.back()) {
    return fail(Code::Malformed, "the path '" + path + "' is there twice");
  }
  if (!open_.empty() && path < open_.back()) {
    return fail(Code::Malformed, "the path '" + path + "' has to stand before '" + open_.back() +
                                     "': paths are in bytewise order");
  }
  while (!open_.empty() && !path.starts_with(open_.back())) open_.pop_back();
  for (const std::string& shorter : open_) {
    if (path[shorter.size()] != '/') continue;
    return fail(Code::Malformed,
                "the path '" + path + "' stands below '" + shorter + "', which is an entry itself");
  }
  open_.push_back(path);
  return {};
}

Result<ManifestSummary> check(const Manifest& manifest) {
  ManifestRules rules;
  for (const ManifestEntry& entry : manifest.entries) {
    if (auto taken = rules.take(entry); !taken) return fail(std::move(taken.error()));
  }
  return rules.summary();
}

std::string print(const Manifest& manifest) {
  constexpr std::size_t kUsualEntryBytes = 192;
  std::string out;
  out.reserve(manifest.entries.size() * kUsualEntryBytes);
  base::JsonWriter json(out);
  json.begin_object().key("entries").begin_array();
  for (const ManifestEntry& entry : manifest.entries) write(json, entry);
  json.end_array().key("ron").value("manifest/1").end_object();
  assert(json.complete());
  return out;
}

}  // namespace ron::catalog
