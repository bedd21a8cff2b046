#include "services/edge/mount.h"

#include <algorithm>
#include <utility>

#include "pack/compression.h"
#include "services/edge/tilejson.h"

namespace ron::edge {
namespace {

std::string line(std::string_view name, std::string_view value) {
  return std::string(name).append(": ").append(value).append("\r\n");
}

std::string lines_of_tile(pack::TileType type, http::Coding coding) {
  std::string lines = line("Content-Type", pack::media_type(type));
  if (coding != http::Coding::Identity) lines += line("Content-Encoding", coding_name(coding));
  lines += line("Cache-Control", kTileCaching);
  lines += line("Accept-Ranges", "bytes");
  return lines;
}

std::string lines_of_file(const std::string& tag) {
  return line("ETag", "\"" + tag + "\"") + line("Content-Type", "application/vnd.pmtiles") +
         line("Cache-Control", kTileCaching) + line("Accept-Ranges", "bytes");
}

}  // namespace

std::string_view name(MountSource source) noexcept {
  switch (source) {
    case MountSource::Configured:
      return "configuration";
    case MountSource::Directory:
      return "directory";
    case MountSource::Added:
      return "added";
  }
  return "unknown";
}

std::string without_directory(std::string text, std::string_view path) {
  const std::size_t slash = path.rfind('/');
  if (slash == std::string_view::npos || slash == 0) return text;
  const std::string_view directory = path.substr(0, slash + 1);
  for (std::size_t at = text.find(directory); at != std::string::npos;
       at = text.find(directory, at)) {
    text.erase(at, directory.size());
  }
  return text;
}

bool is_pack_name(std::string_view name) noexcept {
  const auto is_fine = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '.' || c == '_' || c == '-';
  };
  return !name.empty() && name.size() <= kPackNameBytes && name.front() != '.' &&
         std::ranges::all_of(name, is_fine);
}

Mount::Mount(MountOrder ordered, pack::PackPtr opened, std::uint64_t own_generation,
             platform::SendArena& arena)
    : order(std::move(ordered)),
      pack(std::move(opened)),
      generation(own_generation),
      coding(coding_of(info().compression)),
      file_tag(info().hash.text()),
      file_lines(lines_of_file(file_tag)),
      tilejson(tilejson_members(order.name, info())),
      no_tile(std::make_shared<const kit::Representation>("", "", base::Buffer(), arena)),
      tile_lines_{lines_of_tile(info().type, http::Coding::Identity),
                  lines_of_tile(info().type, coding)} {
  // Which of the two is sent depends on the request only if there are two.
  if (coding == http::Coding::Identity) return;
  for (std::string& lines : tile_lines_) lines += line("Vary", "Accept-Encoding");
}

Mount::Mount(MountOrder ordered, const Mount& other)
    : order(std::move(ordered)),
      pack(other.pack),
      generation(other.generation),
      coding(other.coding),
      file_tag(other.file_tag),
      file_lines(other.file_lines),
      tilejson(other.tilejson),
      no_tile(other.no_tile),
      tile_lines_(other.tile_lines_) {}

}  // namespace ron::edge
