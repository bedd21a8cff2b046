#include "services/edge/web_files.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>
#include <utility>

#include "http/field_list.h"

// web/bundle.S
extern "C" {
extern const std::byte ron_web_bundle[];
extern const std::byte ron_web_bundle_end[];
}

namespace ron::edge {
namespace {

using base::Code;
using base::fail;
using base::Result;

constexpr std::string_view kFirstLine = "ron-web 1";

// Everything up to `end`, which is taken as well.
std::optional<std::string_view> take(std::string_view& text, char end) noexcept {
  const std::size_t at = text.find(end);
  if (at == std::string_view::npos) return std::nullopt;
  const std::string_view taken = text.substr(0, at);
  text.remove_prefix(at + 1);
  return taken;
}

struct Listed {
  WebFile file;
  std::array<std::uint64_t, 3> lengths{};
};

std::optional<Listed> parse_line(std::string_view line) noexcept {
  Listed listed;
  for (std::string_view* word : {&listed.file.name, &listed.file.media_type, &listed.file.tag}) {
    const auto taken = take(line, ' ');
    if (!taken || taken->empty()) return std::nullopt;
    *word = *taken;
  }
  for (std::size_t i = 0; i < listed.lengths.size(); ++i) {
    const auto taken = i + 1 < listed.lengths.size() ? take(line, ' ') : std::optional(line);
    const auto length = taken ? http::parse_decimal(*taken) : std::nullopt;
    if (!length) return std::nullopt;
    listed.lengths[i] = *length;
  }
  return listed;
}

WebFiles parse_own() {
  const base::ByteView bundle(ron_web_bundle, ron_web_bundle_end);
  if (bundle.empty()) return {};
  // The build's own, which a test reads: there is nobody to tell if it is wrong.
  return WebFiles::parse(bundle).value_or(WebFiles());
}

}  // namespace

Result<WebFiles> WebFiles::parse(base::ByteView bundle) {
  std::string_view rest = base::as_text(bundle);
  if (take(rest, '\n') != kFirstLine)
    return fail(Code::Malformed, "this is no bundle of web files");
  std::vector<Listed> all;
  for (;;) {
    const auto line = take(rest, '\n');
    if (line && line->empty()) break;
    auto listed = line ? parse_line(*line) : std::nullopt;
    if (!listed) return fail(Code::Malformed, "the list of web files is wrong");
    all.push_back(*listed);
  }
  WebFiles found;
  base::ByteView bytes = base::as_bytes(rest);
  for (Listed& each : all) {
    const std::array parts = {&each.file.plain, &each.file.gzip, &each.file.brotli};
    for (std::size_t i = 0; i < parts.size(); ++i) {
      if (each.lengths[i] > bytes.size()) return fail(Code::Malformed, "web files are cut short");
      *parts[i] = bytes.first(each.lengths[i]);
      bytes = bytes.subspan(each.lengths[i]);
    }
    found.files_.push_back(each.file);
  }
  if (!bytes.empty()) return fail(Code::Malformed, "there is more than the listed web files");
  return found;
}

const WebFiles& WebFiles::built_in() {
  static const WebFiles files = parse_own();
  return files;
}

const WebFile* WebFiles::find(std::string_view name) const noexcept {
  const auto found = std::ranges::find(files_, name, &WebFile::name);
  return found == files_.end() ? nullptr : &*found;
}

}  // namespace ron::edge
