// The one form of a manifest, read back. Whatever print() would write in another way is refused, so
// that no two texts are one tree.
#include <charconv>
#include <utility>

#include "base/rfc3339.h"
#include "catalog/manifest.h"
#include "catalog/manifest_path.h"
#include "catalog/media_type.h"

namespace ron::catalog {
namespace {

using base::Code;
using base::fail;
using base::Result;

// No string of a manifest is longer than this.
constexpr std::size_t kMaxStringBytes = kMaxPathBytes;
static_assert(kMaxLinkBytes <= kMaxStringBytes && kMaxMediaTypeBytes <= kMaxStringBytes &&
              base::ObjectId::kTextLength <= kMaxStringBytes);

// Takes the text from the front. The first step that finds something else fails it and every later
// one; nothing taken is to be believed before ok() is asked.
class Cursor {
 public:
  explicit Cursor(std::string_view text) noexcept : text_(text) {}

  bool accept(std::string_view expected) noexcept {
    if (!ok() || !text_.substr(at_).starts_with(expected)) return false;
    at_ += expected.size();
    return true;
  }
  void expect(std::string_view expected) {
    if (!accept(expected)) refuse("expected " + std::string(expected));
  }

  // A quoted string whose only escapes are those of the quote and the backslash: everything else
  // that JSON has to escape is refused in a manifest.
  std::string string() {
    expect("\"");
    std::string out;
    while (ok()) {
      const std::string_view ahead = text_.substr(at_, kMaxStringBytes + 1);
      const std::size_t plain = ahead.find_first_of("\"\\");
      if (plain == std::string_view::npos || out.size() + plain > kMaxStringBytes) {
        refuse("a string without an end or of more than " + std::to_string(kMaxStringBytes) +
               " bytes");
        break;
      }
      out += ahead.substr(0, plain);
      at_ += plain;
      if (accept("\"")) break;
      if (accept("\\\\")) {
        out += '\\';
      } else if (accept("\\\"")) {
        out += '"';
      } else {
        refuse("an escape that a manifest does not have");
      }
    }
    return out;
  }

  std::uint64_t number() {
    std::uint64_t number = 0;
    const char* const begin = text_.data() + at_;
    const auto [end, problem] = std::from_chars(begin, text_.data() + text_.size(), number);
    const auto digits = static_cast<std::size_t>(end - begin);
    if (problem != std::errc() || (digits > 1 && *begin == '0')) refuse("expected a number");
    at_ += digits;
    return number;
  }

  void refuse(std::string why) {
    if (ok()) why_ = std::move(why) + " at byte " + std::to_string(at_);
  }
  [[nodiscard]] bool ok() const noexcept { return why_.empty(); }
  [[nodiscard]] bool at_end() const noexcept { return at_ == text_.size(); }
  [[nodiscard]] base::Error error() const {
    return {Code::Malformed, "this is not a manifest in the form of RFC 8785: " + why_};
  }

 private:
  std::string_view text_;
  std::size_t at_ = 0;
  std::string why_;  // empty: nothing failed so far
};

base::ObjectId read_address(Cursor& cursor) {
  const std::string text = cursor.string();
  const auto address = base::ObjectId::parse(text);
  if (address && address->text() == text) return *address;
  cursor.refuse("expected b3: and 64 lower-case hex digits");
  return {};
}

std::optional<std::int64_t> read_mtime(Cursor& cursor) {
  if (!cursor.accept("\"mtime\":")) return std::nullopt;
  const std::string text = cursor.string();
  const auto time = base::parse_rfc3339(text);
  if (!time || base::print_rfc3339(*time) != text) {
    cursor.refuse("expected a time such as 2030-01-31T12:00:00Z");
    return std::nullopt;
  }
  cursor.expect(",");
  return *time;
}

ManifestEntry read_entry(Cursor& cursor) {
  ManifestEntry entry;
  cursor.expect("{");
  if (cursor.accept("\"address\":")) {
    TreeFile file;
    file.address = read_address(cursor);
    cursor.expect(",");
    file.exec = cursor.accept("\"exec\":true,");
    cursor.expect("\"length\":");
    file.length = cursor.number();
    cursor.expect(",");
    entry.mtime_s = read_mtime(cursor);
    cursor.expect("\"path\":");
    entry.path = cursor.string();
    cursor.expect(",\"type\":");
    file.type = cursor.string();
    entry.what = std::move(file);
  } else {
    if (cursor.accept("\"link\":")) {
      entry.what = TreeLink{cursor.string()};
    } else if (cursor.accept("\"dir\":true")) {
      entry.what = TreeDirectory{};
    } else {
      cursor.refuse("expected \"address\", \"dir\":true or \"link\"");
    }
    cursor.expect(",");
    entry.mtime_s = read_mtime(cursor);
    cursor.expect("\"path\":");
    entry.path = cursor.string();
  }
  cursor.expect("}");
  return entry;
}

// Hands every entry that keeps the rules to `take`, in order.
template <class Take>
Result<ManifestSummary> read(std::string_view text, const base::StopToken& stop, Take take) {
  if (text.size() > kMaxManifestBytes) {
    return fail(Code::Malformed, "a manifest has at most 1 GiB");
  }
  Cursor cursor(text);
  ManifestRules rules;
  cursor.expect("{\"entries\":[");
  if (!cursor.accept("]")) {
    while (cursor.ok()) {
      ManifestEntry entry = read_entry(cursor);
      if (!cursor.ok()) break;
      if (stop.requested()) return fail(stop.error());
      if (auto taken = rules.take(entry); !taken) return fail(std::move(taken.error()));
      take(std::move(entry));
      if (cursor.accept("]")) break;
      cursor.expect(",");
    }
  }
  cursor.expect(",\"ron\":\"manifest/1\"}");
  if (!cursor.at_end()) cursor.refuse("expected nothing more");
  if (!cursor.ok()) return fail(cursor.error());
  return rules.summary();
}

}  // namespace

Result<Manifest> parse_manifest(std::string_view text, const base::StopToken& stop) {
  Manifest manifest;
  const auto read_all = read(
      text, stop, [&](ManifestEntry&& entry) { manifest.entries.push_back(std::move(entry)); });
  if (!read_all) return fail(read_all.error());
  return manifest;
}

Result<ManifestSummary> summarize_manifest(std::string_view text, const base::StopToken& stop) {
  return read(text, stop, [](const ManifestEntry&) {});
}

}  // namespace ron::catalog
