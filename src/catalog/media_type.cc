#include "catalog/media_type.h"

#include <algorithm>
#include <array>

#include "catalog/segments.h"

namespace ron::catalog {
namespace {

struct Ending {
  std::string_view ending;  // lower case
  std::string_view type;
};

// Sorted by ending. Text is UTF-8 unless it says something else itself, as HTML may.
constexpr auto kEndings = std::to_array<Ending>({
    {"7z", "application/x-7z-compressed"},
    {"aac", "audio/aac"},
    {"atom", "application/atom+xml"},
    {"avi", "video/x-msvideo"},
    {"avif", "image/avif"},
    {"bmp", "image/bmp"},
    {"br", "application/x-brotli"},
    {"bz2", "application/x-bzip2"},
    {"c", "text/x-c; charset=utf-8"},
    {"cbor", "application/cbor"},
    {"cc", "text/x-c++; charset=utf-8"},
    {"conf", "text/plain; charset=utf-8"},
    {"cpp", "text/x-c++; charset=utf-8"},
    {"css", "text/css; charset=utf-8"},
    {"csv", "text/csv; charset=utf-8"},
    {"deb", "application/vnd.debian.binary-package"},
    {"doc", "application/msword"},
    {"docx", "application/vnd.openxmlformats-officedocument.wordprocessingml.document"},
    {"eot", "application/vnd.ms-fontobject"},
    {"epub", "application/epub+zip"},
    {"flac", "audio/flac"},
    {"geojson", "application/geo+json"},
    {"gif", "image/gif"},
    {"gz", "application/gzip"},
    {"h", "text/x-c; charset=utf-8"},
    {"htm", "text/html; charset=utf-8"},
    {"html", "text/html; charset=utf-8"},
    {"ico", "image/vnd.microsoft.icon"},
    {"ics", "text/calendar; charset=utf-8"},
    {"iso", "application/x-iso9660-image"},
    {"jar", "application/java-archive"},
    {"jpeg", "image/jpeg"},
    {"jpg", "image/jpeg"},
    {"js", "text/javascript; charset=utf-8"},
    {"json", "application/json"},
    {"jsonld", "application/ld+json"},
    {"jxl", "image/jxl"},
    {"log", "text/plain; charset=utf-8"},
    {"m4a", "audio/mp4"},
    {"map", "application/json"},
    {"md", "text/markdown; charset=utf-8"},
    {"mid", "audio/midi"},
    {"mjs", "text/javascript; charset=utf-8"},
    {"mkv", "video/matroska"},
    {"mov", "video/quicktime"},
    {"mp3", "audio/mpeg"},
    {"mp4", "video/mp4"},
    {"mpeg", "video/mpeg"},
    {"mvt", "application/vnd.mapbox-vector-tile"},
    {"ods", "application/vnd.oasis.opendocument.spreadsheet"},
    {"odt", "application/vnd.oasis.opendocument.text"},
    {"oga", "audio/ogg"},
    {"ogg", "audio/ogg"},
    {"ogv", "video/ogg"},
    {"opus", "audio/ogg"},
    {"otf", "font/otf"},
    {"pbf", "application/x-protobuf"},
    {"pdf", "application/pdf"},
    {"pem", "application/x-pem-file"},
    {"pmtiles", "application/vnd.pmtiles"},
    {"png", "image/png"},
    {"ppt", "application/vnd.ms-powerpoint"},
    {"pptx", "application/vnd.openxmlformats-officedocument.presentationml.presentation"},
    {"ps", "application/postscript"},
    {"py", "text/x-python; charset=utf-8"},
    {"rar", "application/vnd.rar"},
    {"rs", "text/x-rust; charset=utf-8"},
    {"rss", "application/rss+xml"},
    {"rtf", "application/rtf"},
    {"sh", "application/x-sh"},
    {"sqlite", "application/vnd.sqlite3"},
    {"svg", "image/svg+xml"},
    {"tar", "application/x-tar"},
    {"tgz", "application/gzip"},
    {"tif", "image/tiff"},
    {"tiff", "image/tiff"},
    {"toml", "application/toml"},
    {"ts", "text/x-typescript; charset=utf-8"},
    {"tsv", "text/tab-separated-values; charset=utf-8"},
    {"ttf", "font/ttf"},
    {"txt", "text/plain; charset=utf-8"},
    {"vtt", "text/vtt; charset=utf-8"},
    {"wasm", "application/wasm"},
    {"wav", "audio/wav"},
    {"weba", "audio/webm"},
    {"webm", "video/webm"},
    {"webmanifest", "application/manifest+json"},
    {"webp", "image/webp"},
    {"woff", "font/woff"},
    {"woff2", "font/woff2"},
    {"xhtml", "application/xhtml+xml"},
    {"xls", "application/vnd.ms-excel"},
    {"xlsx", "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet"},
    {"xml", "application/xml"},
    {"xz", "application/x-xz"},
    {"yaml", "application/yaml"},
    {"yml", "application/yaml"},
    {"zip", "application/zip"},
    {"zst", "application/zstd"},
});

constexpr std::size_t kLongestEnding =
    std::ranges::max(kEndings, {}, [](const Ending& e) { return e.ending.size(); }).ending.size();

constexpr bool is_token(char c) noexcept {
  constexpr std::string_view kMarks = "!#$%&'*+-.^_`|~";  // RFC 9110 §5.6.2
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
         kMarks.contains(c);
}

std::size_t token_bytes(std::string_view text) noexcept {
  return static_cast<std::size_t>(std::ranges::find_if_not(text, is_token) - text.begin());
}

constexpr char lower(char c) noexcept {
  return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
}

}  // namespace

bool is_media_type(std::string_view text) noexcept {
  if (text.size() > kMaxMediaTypeBytes) return false;
  const std::size_t type = token_bytes(text);
  if (type == 0 || type == text.size() || text[type] != '/') return false;
  const std::string_view rest = text.substr(type + 1);
  const std::size_t subtype = token_bytes(rest);
  if (subtype == 0) return false;
  const std::string_view parameters = rest.substr(subtype);
  if (parameters.empty()) return true;
  const std::size_t first = parameters.find_first_not_of(' ');
  return first != std::string_view::npos && parameters[first] == ';' &&
         std::ranges::all_of(parameters, [](char c) { return c >= ' ' && c < '\x7F'; });
}

std::string_view media_type_of(std::string_view path) noexcept {
  static_assert(std::ranges::is_sorted(kEndings, {}, &Ending::ending));
  const std::string_view file = last_segment(path);
  const std::size_t dot = file.rfind('.');
  // A file such as `.profile` has a name and no ending.
  if (dot == std::string_view::npos || dot == 0) return kUnknownType;
  const std::string_view ending = file.substr(dot + 1);
  if (ending.size() > kLongestEnding) return kUnknownType;
  std::array<char, kLongestEnding> folded{};
  std::ranges::transform(ending, folded.begin(), lower);
  const std::string_view wanted(folded.data(), ending.size());
  const auto* const found = std::ranges::lower_bound(kEndings, wanted, {}, &Ending::ending);
  return found != kEndings.end() && found->ending == wanted ? found->type : kUnknownType;
}

}  // namespace ron::catalog
