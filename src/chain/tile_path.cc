#include "chain/tile_path.h"

#include <charconv>

namespace ron::chain {
namespace {

constexpr std::string_view kPrefix = "tile/";
constexpr std::string_view kEntries = "entries";
constexpr std::string_view kPartial = ".p/";
constexpr std::uint64_t kGroup = 1000;
constexpr std::size_t kGroupDigits = 3;
// tile/entries/, the groups of a number of 20 digits, .p/255.
constexpr std::size_t kMaxPathBytes = 64;

template <class Number>
std::optional<Number> parse_number(std::string_view text) {
  Number number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return number;
}

std::string group_of(std::uint64_t number) {
  std::string digits = std::to_string(number % kGroup);
  digits.insert(0, kGroupDigits - digits.size(), '0');
  return digits;
}

std::string print_index(std::uint64_t index) {
  std::string text = group_of(index);
  for (index /= kGroup; index != 0; index /= kGroup) text.insert(0, "x" + group_of(index) + "/");
  return text;
}

// Digits only, in whatever groups: the caller prints the number again and compares.
std::optional<std::uint64_t> parse_index(std::string_view text) {
  std::string digits;
  for (const char c : text) {
    if (c >= '0' && c <= '9') digits.push_back(c);
  }
  return parse_number<std::uint64_t>(digits);
}

// Whether the tile's first leaf has a number of 64 bits.
bool is_possible(const Tile& tile) {
  const unsigned level = tile.level.value_or(0);
  if (level >= kTileLevels || tile.width == 0 || tile.width > kTileWidth) return false;
  const unsigned height = kTileHeight * (level + 1);
  return height >= 64 ? tile.index == 0 : (tile.index >> (64 - height)) == 0;
}

std::optional<Tile> parse(std::string_view path) {
  if (path.size() > kMaxPathBytes || !path.starts_with(kPrefix)) return std::nullopt;
  path.remove_prefix(kPrefix.size());
  const std::size_t slash = path.find('/');
  if (slash == std::string_view::npos) return std::nullopt;
  Tile tile;
  const std::string_view level = path.substr(0, slash);
  if (level != kEntries) {
    tile.level = parse_number<unsigned>(level);
    if (!tile.level) return std::nullopt;
  }
  path.remove_prefix(slash + 1);
  if (const std::size_t partial = path.find(kPartial); partial != std::string_view::npos) {
    const auto width = parse_number<std::uint64_t>(path.substr(partial + kPartial.size()));
    if (!width || *width >= kTileWidth) return std::nullopt;
    tile.width = *width;
    path = path.substr(0, partial);
  }
  const auto index = parse_index(path);
  if (!index) return std::nullopt;
  tile.index = *index;
  return tile;
}

}  // namespace

std::string print_tile_path(const Tile& tile) {
  std::string path(kPrefix);
  path.append(tile.level ? std::to_string(*tile.level) : std::string(kEntries)).append("/");
  path.append(print_index(tile.index));
  if (tile.width != kTileWidth) path.append(kPartial).append(std::to_string(tile.width));
  return path;
}

base::Result<Tile> parse_tile_path(std::string_view path) {
  const auto tile = parse(path);
  // One tile has one name, whatever the digits of another would come to.
  if (!tile || !is_possible(*tile) || print_tile_path(*tile) != path) {
    return base::fail(base::Code::NotFound, "this is not the name of a tile");
  }
  return *tile;
}

}  // namespace ron::chain
