#include "pack/metadata.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <optional>
#include <span>

#include <nlohmann/json.hpp>

#include "pack/compression.h"

namespace ron::pack {
namespace {

using Json = nlohmann::json;

// Reads without keeping anything; false ends it.
class Checker final : public nlohmann::json_sax<Json> {
 public:
  bool null() override { return !at_top(); }
  bool boolean(bool) override { return !at_top(); }
  bool number_integer(number_integer_t) override { return !at_top(); }
  bool number_unsigned(number_unsigned_t) override { return !at_top(); }
  bool number_float(number_float_t, const string_t&) override { return !at_top(); }
  bool string(string_t&) override { return !at_top(); }
  bool binary(binary_t&) override { return false; }
  bool key(string_t&) override { return true; }
  bool start_object(std::size_t) override { return ++depth_ <= kMetadataDepth; }
  bool end_object() override {
    --depth_;
    return true;
  }
  bool start_array(std::size_t) override { return !at_top() && ++depth_ <= kMetadataDepth; }
  bool end_array() override {
    --depth_;
    return true;
  }
  bool parse_error(std::size_t, const std::string&, const Json::exception&) override {
    return false;
  }

 private:
  [[nodiscard]] bool at_top() const noexcept { return depth_ == 0; }

  std::size_t depth_ = 0;
};

const std::string* find(const MetadataRows& rows, std::string_view name) {
  const auto found = std::ranges::find(rows, name, [](const auto& row) { return row.first; });
  return found == rows.end() ? nullptr : &found->second;
}

// Exactly so many numbers, with commas between them and blanks around them.
template <std::size_t N>
std::optional<std::array<double, N>> parse_numbers(std::string_view text) {
  std::array<double, N> out{};
  for (std::size_t i = 0; i < N; ++i) {
    const std::size_t end = i + 1 == N ? text.size() : text.find(',');
    if (end == std::string_view::npos) return std::nullopt;
    std::string_view word = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    while (word.starts_with(' ')) word.remove_prefix(1);
    while (word.ends_with(' ')) word.remove_suffix(1);
    const auto [rest, error] = std::from_chars(word.data(), word.data() + word.size(), out[i]);
    if (error != std::errc() || rest != word.data() + word.size() || !std::isfinite(out[i])) {
      return std::nullopt;
    }
  }
  return out;
}

// Writers round: what is off by less than a millimetre is on the edge.
bool clamp(double& value, double most) noexcept {
  constexpr double kRounding = 1e-6;
  if (std::abs(value) > most + kRounding) return false;
  value = std::clamp(value, -most, most);
  return true;
}

base::Result<void> apply_bounds(const MetadataRows& rows, Info& info) {
  const std::string* text = find(rows, "bounds");
  if (text == nullptr) return {};
  const auto numbers = parse_numbers<4>(*text);
  if (!numbers) return base::fail(base::Code::Malformed, "the bounds are not four numbers");
  auto [west, south, east, north] = *numbers;
  if (!clamp(west, 180) || !clamp(east, 180) || !clamp(south, 90) || !clamp(north, 90)) {
    return base::fail(base::Code::Malformed, "the bounds are not on the globe");
  }
  if (west > east || south > north) {
    return base::fail(base::Code::Malformed, "the bounds are the wrong way round");
  }
  info.bounds = {west, south, east, north};
  return {};
}

base::Result<void> apply_center(const MetadataRows& rows, Info& info) {
  info.center_lon = (info.bounds.west + info.bounds.east) / 2;
  info.center_lat = (info.bounds.south + info.bounds.north) / 2;
  info.center_zoom = info.min_zoom;
  const std::string* text = find(rows, "center");
  if (text == nullptr) return {};
  const auto numbers = parse_numbers<3>(*text);
  if (!numbers) return base::fail(base::Code::Malformed, "the centre is not three numbers");
  auto [lon, lat, zoom] = *numbers;
  if (!clamp(lon, 180) || !clamp(lat, 90)) {
    return base::fail(base::Code::Malformed, "the centre is not on the globe");
  }
  if (zoom < 0 || zoom > 30) {
    return base::fail(base::Code::Malformed, "the centre's zoom is not between 0 and 30");
  }
  info.center_lon = lon;
  info.center_lat = lat;
  info.center_zoom = static_cast<std::uint8_t>(zoom);
  return {};
}

TileType type_of(std::string_view format) noexcept {
  struct Named {
    std::string_view name;
    TileType type;
  };
  for (const auto& [name, type] :
       {Named{"pbf", TileType::Mvt}, Named{"mvt", TileType::Mvt}, Named{"png", TileType::Png},
        Named{"jpg", TileType::Jpeg}, Named{"jpeg", TileType::Jpeg}, Named{"webp", TileType::Webp},
        Named{"avif", TileType::Avif}}) {
    if (format == name) return type;
  }
  return TileType::Unknown;
}

}  // namespace

base::Result<void> apply_metadata(const MetadataRows& rows, Info& info) {
  if (const std::string* format = find(rows, "format")) info.type = type_of(*format);
  if (auto done = apply_bounds(rows, info); !done) return done;
  if (auto done = apply_center(rows, info); !done) return done;
  Json out = Json::object();
  for (const auto& [name, value] : rows) {
    if (name != "json") out.emplace(name, value);
  }
  if (const std::string* inner = find(rows, "json")) {
    if (!is_json_object(*inner)) {
      return base::fail(base::Code::Malformed, "the metadata's json is not a JSON object");
    }
    const Json members = Json::parse(*inner);
    for (const auto& [name, value] : members.items()) out.emplace(name, value);
  }
  info.metadata = out.dump(-1, ' ', false, Json::error_handler_t::replace);
  return {};
}

TileType sniff_type(base::ByteView bytes) noexcept {
  const std::string_view text = base::as_text(bytes);
  if (text.starts_with(kGzipMagic)) return TileType::Mvt;
  if (text.starts_with("\x89PNG")) return TileType::Png;
  if (text.starts_with("\xff\xd8\xff")) return TileType::Jpeg;
  if (text.starts_with("RIFF") && text.size() > 12 && text.substr(8, 4) == "WEBP") {
    return TileType::Webp;
  }
  if (text.size() > 12 && text.substr(4, 8) == "ftypavif") return TileType::Avif;
  return TileType::Unknown;
}

bool is_json_object(std::string_view text) {
  Checker checker;
  return Json::sax_parse(text.begin(), text.end(), &checker);
}

}  // namespace ron::pack
