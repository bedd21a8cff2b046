#include "chain/checkpoint_files.h"

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <utility>

#include "chain/note.h"
#include "chain/proof.h"

namespace ron::chain {
namespace {

using base::Code;
using base::fail;
using base::Result;
using platform::Task;

constexpr std::size_t kDigits = 20;

}  // namespace

std::string checkpoint_file(std::uint64_t version, std::string_view suffix) {
  const std::string digits = std::to_string(version);
  return std::string(kDigits - digits.size(), '0') + digits + std::string(suffix);
}

std::optional<std::uint64_t> parse_checkpoint_file(std::string_view name, std::string_view suffix) {
  if (name.size() != kDigits + suffix.size() || !name.ends_with(suffix)) return std::nullopt;
  std::uint64_t version = 0;
  const char* const end = name.data() + kDigits;
  const auto [stop, status] = std::from_chars(name.data(), end, version);
  if (status != std::errc{} || stop != end) return std::nullopt;
  return version;
}

Result<Checkpoint> open_checkpoint(std::string_view note, const auth::PublicKey& key) {
  const auto parsed = parse_note(note);
  if (!parsed) return fail(parsed.error());
  auto checkpoint = parse_checkpoint(parsed->text);
  if (!checkpoint) return fail(std::move(checkpoint.error()));
  const auto verifier = NoteVerifier::make(checkpoint->origin, key);
  if (!verifier) return fail(verifier.error());
  const auto text = open_note(note, std::span(&*verifier, 1));
  if (!text) return fail(text.error());
  return checkpoint;
}

Result<State> open_snapshot(const Snapshot& snapshot, const Checkpoint& checkpoint,
                            Signatures signatures) {
  if (snapshot.hash() != checkpoint.state) {
    return fail(Code::IntegrityFail, "the state is not what the signed checkpoint says");
  }
  auto state = restore(snapshot, signatures);
  if (!state) return fail(std::move(state.error()));
  const Head head{checkpoint.version, checkpoint.hash};
  if (state->head() != head || log_origin(state->log()) != checkpoint.origin) {
    return fail(Code::IntegrityFail, "the state is of another version or log");
  }
  return state;
}

Task<Result<std::string>> read_whole_file(platform::Disk* disk, std::string path,
                                          std::size_t most) {
  auto file = co_await disk->open(path, {platform::OpenMode::ReadExisting, false});
  if (!file) co_return fail(std::move(file.error()));
  const auto size = co_await (*file)->size();
  if (!size) co_return fail(size.error());
  if (*size > most) co_return fail(Code::IntegrityFail, path + " is too large");
  auto bytes = co_await (*file)->read_at(0, base::Buffer(*size));
  if (!bytes) co_return fail(std::move(bytes.error()));
  co_return std::string(base::as_text(bytes->view()));
}

// The file is an array of two byte strings, of which the summary is the first.
Task<Result<std::string>> read_summary(platform::Disk* disk, std::string path) {
  constexpr std::size_t kFirstRead = 64 * base::kKiB;
  constexpr unsigned kPairHead = 0x82;
  constexpr unsigned kBytesHead = 0x40;
  constexpr unsigned kLengthBits = 0x1F;
  auto file = co_await disk->open(path, {platform::OpenMode::ReadExisting, false});
  if (!file) co_return fail(std::move(file.error()));
  const auto size = co_await (*file)->size();
  if (!size) co_return fail(size.error());
  const auto begin = co_await (*file)->read_at(0, base::Buffer(std::min(*size, kFirstRead)));
  if (!begin) co_return fail(begin.error());
  const auto bytes = begin->view();
  const auto byte = [bytes](std::size_t at) {
    return at < bytes.size() ? std::to_integer<std::uint64_t>(bytes[at]) : 0;
  };
  const std::uint64_t length_code = byte(1) & kLengthBits;
  std::size_t head = 2;
  std::uint64_t length = length_code;
  if (length_code >= 24 && length_code <= 27) {
    const std::size_t digits = std::size_t{1} << (length_code - 24);
    length = 0;
    for (std::size_t i = 0; i < digits; ++i) length = length << 8U | byte(head + i);
    head += digits;
  }
  const bool is_pair =
      byte(0) == kPairHead && (byte(1) & ~std::uint64_t{kLengthBits}) == kBytesHead;
  if (!is_pair || length_code > 27 || length > kMaxSnapshotBytes || head + length > *size) {
    co_return fail(Code::IntegrityFail, path + ": it does not begin with a summary");
  }
  if (head + length <= bytes.size()) {
    co_return std::string(base::as_text(bytes.subspan(head, length)));
  }
  const auto whole = co_await (*file)->read_at(head, base::Buffer(length));
  if (!whole) co_return fail(whole.error());
  co_return std::string(base::as_text(whole->view()));
}

}  // namespace ron::chain
