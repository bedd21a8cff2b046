#include "chain/entry.h"

#include <algorithm>
#include <utility>

#include "auth/digest.h"
#include "b3/hash.h"
#include "base/cbor.h"
#include "base/encoding.h"
#include "base/rfc3339.h"

namespace ron::chain {
namespace {

using base::Code;
using base::fail;
using base::Result;
using base::Value;

constexpr std::size_t kEntryFields = 7;
constexpr std::size_t kApprovalFields = 2;
constexpr std::size_t kUsualApprovals = 256;  // bytes, to begin with

std::vector<Approval> read_approvals(base::CborReader& reader) {
  const std::uint64_t count = reader.array();
  if (count > kMaxSigners) reader.refuse("there are more approvals than signers can be");
  std::vector<Approval> approvals;
  for (std::uint64_t i = 0; i < count && reader.ok(); ++i) {
    Approval approval;
    if (reader.map() != kApprovalFields) reader.refuse("an approval is not {sig, signer}");
    reader.key("sig");
    reader.bytes(approval.signature);
    reader.key("signer");
    approval.signer = reader.text();
    if (!auth::is_lower_hex(approval.signer, kSignerIdChars)) {
      reader.refuse("a signer is not 16 hex digits");
    }
    if (!approvals.empty() && approvals.back().signer >= approval.signer) {
      reader.refuse("the approvals are not sorted by signer");
    }
    approvals.push_back(std::move(approval));
  }
  return approvals;
}

// Milliseconds that fit the calendar.
std::int64_t read_time(base::CborReader& reader) {
  const std::uint64_t ms = reader.unsigned_number();
  if (ms / 1000 > static_cast<std::uint64_t>(base::kMaxUnixS)) reader.refuse("the time is too far");
  return static_cast<std::int64_t>(ms);
}

base::Ulid read_ulid(base::CborReader& reader) {
  const std::string_view text = reader.text();
  const auto ulid = base::Ulid::parse(text);
  if (!ulid || ulid->text() != text) reader.refuse("the proposal is not a ULID");
  return ulid.value_or(base::Ulid());
}

}  // namespace

// The keys in the order of their encodings: shorter ones first.
std::string encode(const Entry& entry) {
  std::string out;
  out.reserve(entry.payload.size() + kUsualApprovals * (1 + entry.approvals.size() / 2));
  base::CborWriter writer(out);
  writer.map(kEntryFields);
  writer.key("at").unsigned_number(static_cast<std::uint64_t>(entry.at_ms));
  writer.key("prev").bytes(entry.prev.digest());
  writer.key("expires").unsigned_number(static_cast<std::uint64_t>(entry.expires_ms));
  writer.key("payload").bytes(base::as_bytes(entry.payload));
  writer.key("version").unsigned_number(entry.version);
  writer.key("proposal").text(entry.proposal.text());
  writer.key("approvals").array(entry.approvals.size());
  for (const Approval& approval : entry.approvals) {
    writer.map(kApprovalFields);
    writer.key("sig").bytes(approval.signature);
    writer.key("signer").text(approval.signer);
  }
  return out;
}

Result<Entry> decode_entry(base::ByteView bytes) {
  if (bytes.size() > kMaxEntryBytes) return fail(Code::Malformed, "the entry is too large");
  base::CborReader reader(bytes);
  if (reader.map() != kEntryFields) reader.refuse("the entry does not have its seven fields");
  Entry entry;
  reader.key("at");
  entry.at_ms = read_time(reader);
  reader.key("prev");
  std::array<std::byte, base::ObjectId::kBytes> prev{};
  reader.bytes(prev);
  entry.prev = base::ObjectId(prev);
  reader.key("expires");
  entry.expires_ms = read_time(reader);
  reader.key("payload");
  entry.payload = base::as_text(reader.bytes());
  reader.key("version");
  entry.version = reader.unsigned_number();
  reader.key("proposal");
  entry.proposal = read_ulid(reader);
  reader.key("approvals");
  entry.approvals = read_approvals(reader);
  if (!reader.complete()) return fail(reader.error());
  return entry;
}

base::ObjectId hash_of(base::ByteView entry) noexcept { return b3::hash(entry); }

Value describe(const Entry& entry) {
  Value::Array approvals;
  for (const Approval& approval : entry.approvals) {
    Value::Map one;
    one.emplace("signer", Value(approval.signer));
    one.emplace("sig", Value(base::to_base64(approval.signature)));
    approvals.push_back(Value(std::move(one)));
  }
  Value::Map map;
  map.emplace("version", Value(entry.version));
  map.emplace("prev", Value(entry.prev.text()));
  map.emplace("proposal", Value(std::string(entry.proposal.text())));
  map.emplace("payload", base::decode_cbor(base::as_bytes(entry.payload)).value_or(Value()));
  map.emplace("approvals", Value(std::move(approvals)));
  map.emplace("at", Value(static_cast<std::uint64_t>(entry.at_ms)));
  map.emplace("expires", Value(static_cast<std::uint64_t>(entry.expires_ms)));
  return Value(std::move(map));
}

std::string approval_text(const base::ObjectId& log, std::string_view proposal,
                          const base::ObjectId& payload, std::int64_t expires_ms) {
  std::string text = "ron-registry/approval/v1\nlog ";
  text.append(log.text()).append("\nproposal ").append(proposal);
  text.append("\npayload ").append(payload.text());
  text.append("\nexpires ").append(base::print_rfc3339(expires_ms / 1000)).append("\n");
  return text;
}

}  // namespace ron::chain
