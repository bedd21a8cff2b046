#include "chain/checkpoint.h"

#include <algorithm>
#include <charconv>
#include <limits>
#include <optional>
#include <utility>

#include "base/encoding.h"

namespace ron::chain {
namespace {

using base::Code;
using base::fail;
using base::Result;

constexpr std::string_view kChain = "chain ";
constexpr std::string_view kPrunedBelow = "pruned-below ";
constexpr std::string_view kState = "state ";
constexpr std::uint64_t kNoVersion = std::numeric_limits<std::uint64_t>::max();

// One after the other; nothing when there is none left.
class Lines {
 public:
  explicit Lines(std::string_view text) : rest_(text) {}

  [[nodiscard]] bool at_end() const noexcept { return rest_.empty(); }
  std::optional<std::string_view> next() {
    const std::size_t end = rest_.find('\n');
    if (end == std::string_view::npos) return std::nullopt;
    const std::string_view line = rest_.substr(0, end);
    rest_.remove_prefix(end + 1);
    return line;
  }
  // What follows `label` on the next line.
  std::optional<std::string_view> next(std::string_view label) {
    const auto line = next();
    if (!line || !line->starts_with(label)) return std::nullopt;
    return line->substr(label.size());
  }

 private:
  std::string_view rest_;
};

// Without a sign, leading zeros or anything else.
std::optional<std::uint64_t> parse_number(std::optional<std::string_view> text) {
  if (!text || text->empty() || (text->size() > 1 && text->front() == '0')) return std::nullopt;
  std::uint64_t number = 0;
  const auto [end, error] = std::from_chars(text->data(), text->data() + text->size(), number);
  if (error != std::errc() || end != text->data() + text->size()) return std::nullopt;
  return number;
}

std::optional<base::ObjectId> parse_hash(std::optional<std::string_view> text) {
  if (!text) return std::nullopt;
  const auto hash = base::ObjectId::parse(*text);
  if (!hash || hash->text() != *text) return std::nullopt;
  return *hash;
}

std::optional<TreeHash> parse_root(std::optional<std::string_view> text) {
  if (!text) return std::nullopt;
  const auto bytes = base::from_base64_exact(*text);
  TreeHash root{};
  if (!bytes || bytes->size() != root.size()) return std::nullopt;
  std::ranges::copy(*bytes, root.begin());
  return root;
}

bool is_line(std::string_view line, std::size_t most_bytes) {
  return !line.empty() && line.size() <= most_bytes && line.find('\n') == std::string_view::npos &&
         is_note_text(std::string(line) + "\n");
}

// Not one of the lines that stand there once, either.
bool is_further_line(std::string_view line) {
  return is_line(line, kMaxFurtherLineBytes) && !line.starts_with(kChain) &&
         !line.starts_with(kPrunedBelow) && !line.starts_with(kState);
}

Result<> check(const Checkpoint& checkpoint) {
  if (!is_line(checkpoint.origin, kMaxOriginBytes)) {
    return fail(Code::Malformed, "a checkpoint's origin is one line of text, 255 bytes at most");
  }
  if (checkpoint.version == kNoVersion) {
    return fail(Code::Malformed, "a checkpoint's version is too large");
  }
  if (checkpoint.pruned_below > checkpoint.version) {
    return fail(Code::Malformed, "a checkpoint's log does not hold its own version");
  }
  if (checkpoint.further.size() > kMaxFurtherLines ||
      !std::ranges::all_of(checkpoint.further, is_further_line)) {
    return fail(Code::Malformed,
                "a checkpoint has too many further lines, or one that cannot stand there");
  }
  return {};
}

std::unexpected<base::Error> wrong(std::string_view what) {
  return fail(Code::Malformed, "the checkpoint has no " + std::string(what) + " where it belongs");
}

}  // namespace

Result<std::string> print_checkpoint(const Checkpoint& checkpoint) {
  if (auto sound = check(checkpoint); !sound) return fail(std::move(sound.error()));
  std::string text = checkpoint.origin + "\n";
  text.append(std::to_string(checkpoint.size())).append("\n");
  text.append(base::to_base64(checkpoint.root)).append("\n");
  text.append(kChain).append(std::to_string(checkpoint.version)).append(" ");
  text.append(checkpoint.hash.text()).append("\n");
  text.append(kPrunedBelow).append(std::to_string(checkpoint.pruned_below)).append("\n");
  text.append(kState).append(checkpoint.state.text()).append("\n");
  for (const std::string& line : checkpoint.further) text.append(line).append("\n");
  return text;
}

Result<Checkpoint> parse_checkpoint(std::string_view text) {
  if (text.size() > kMaxCheckpointBytes || !text.ends_with('\n')) {
    return fail(Code::Malformed, "the checkpoint is too long, or does not end in a newline");
  }
  Lines lines(text);
  const auto origin = lines.next();
  const auto size = parse_number(lines.next());
  if (!size) return wrong("size");
  const auto root = parse_root(lines.next());
  if (!root) return wrong("root");
  const std::string_view chain = lines.next(kChain).value_or("");
  const std::size_t space = chain.find(' ');
  if (space == std::string_view::npos) return wrong("line `chain <version> b3:<hex>`");
  const auto version = parse_number(chain.substr(0, space));
  const auto hash = parse_hash(chain.substr(space + 1));
  if (!version || !hash) return wrong("line `chain <version> b3:<hex>`");
  if (*size == 0 || *version != *size - 1) {
    return fail(Code::Malformed, "the checkpoint's tree has not one leaf for each version");
  }
  const auto pruned_below = parse_number(lines.next(kPrunedBelow));
  if (!pruned_below) return wrong("line `pruned-below <version>`");
  const auto state = parse_hash(lines.next(kState));
  if (!state) return wrong("line `state b3:<hex>`");
  Checkpoint checkpoint{std::string(*origin), *root, *version, *hash, *pruned_below, *state, {}};
  while (!lines.at_end()) checkpoint.further.emplace_back(*lines.next());
  if (auto sound = check(checkpoint); !sound) return fail(std::move(sound.error()));
  return checkpoint;
}

}  // namespace ron::chain
