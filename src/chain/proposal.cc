#include "chain/proposal.h"

#include <algorithm>
#include <utility>

#include "auth/digest.h"
#include "b3/hash.h"
#include "base/cbor.h"

namespace ron::chain {
namespace {

using base::Code;
using base::fail;
using base::Result;

// The first item of a frame says what it is.
constexpr std::uint64_t kProposalFrame = 1;
constexpr std::uint64_t kApprovalFrame = 2;
constexpr std::uint64_t kGoneFrame = 3;
constexpr std::uint64_t kWithdrawnFrame = 4;
constexpr std::uint64_t kProposalItems = 7;
constexpr std::uint64_t kProposalItemsWithTenant = 8;
constexpr std::uint64_t kApprovalItems = 4;
constexpr std::uint64_t kGoneItems = 2;
constexpr std::uint64_t kWithdrawnItems = 4;

auto place_of(std::vector<Approval>& approvals, std::string_view signer) {
  return std::ranges::lower_bound(approvals, signer, {}, &Approval::signer);
}

void write(base::CborWriter& writer, const Approval& approval) {
  writer.text(approval.signer).bytes(approval.signature);
}

Approval read_approval(base::CborReader& reader) {
  Approval approval;
  approval.signer = reader.text();
  reader.bytes(approval.signature);
  if (!auth::is_lower_hex(approval.signer, kSignerIdChars)) reader.refuse("no signer's id");
  return approval;
}

Result<void> replay_proposal(base::CborReader& reader, bool has_tenant, Pending& pending) {
  const auto id = base::Ulid::parse(reader.text());
  const auto at_ms = static_cast<std::int64_t>(reader.unsigned_number());
  const auto expires_ms = static_cast<std::int64_t>(reader.unsigned_number());
  std::string proposer(reader.text());
  std::string payload(base::as_text(reader.bytes()));
  Proposal proposal;
  const std::uint64_t approvals = reader.array();
  for (std::uint64_t i = 0; i < approvals && reader.ok(); ++i) {
    if (reader.array() != 2) reader.refuse("no approval");
    proposal.add(read_approval(reader));
  }
  std::string tenant(has_tenant ? reader.text() : std::string_view());
  if (has_tenant && tenant.empty()) reader.refuse("an empty tenant");
  if (!id) reader.refuse("no ULID");
  if (!reader.complete()) return fail(reader.error());
  auto what = make_proposed(*id, std::move(payload), at_ms, expires_ms, std::move(proposer),
                            std::move(tenant));
  if (!what) return fail(std::move(what.error()));
  proposal.what = std::make_shared<const Proposed>(std::move(*what));
  pending.insert_or_assign(std::string(id->text()), std::move(proposal));
  return {};
}

Result<void> replay_approval(base::CborReader& reader, Pending& pending) {
  const std::string_view id = reader.text();
  Approval approval = read_approval(reader);
  if (!reader.complete()) return fail(reader.error());
  // Gone meanwhile: its approvals are in the log.
  const auto found = pending.find(id);
  if (found != pending.end()) found->second.add(std::move(approval));
  return {};
}

Result<void> replay_gone(base::CborReader& reader, Pending& pending) {
  const std::string_view id = reader.text();
  if (!reader.complete()) return fail(reader.error());
  if (const auto found = pending.find(id); found != pending.end()) pending.erase(found);
  return {};
}

Result<void> replay_withdrawn(base::CborReader& reader, JournalReplay& journal) {
  Withdrawn withdrawn;
  withdrawn.id = reader.text();
  withdrawn.tenant = reader.text();
  withdrawn.by = reader.text();
  if (!reader.complete()) return fail(reader.error());
  if (!base::Ulid::parse(withdrawn.id)) return fail(Code::Malformed, "no ULID");
  const auto found = journal.pending.find(withdrawn.id);
  if (found != journal.pending.end()) journal.pending.erase(found);
  std::erase_if(journal.withdrawn,
                [&](const Withdrawn& other) { return other.id == withdrawn.id; });
  journal.withdrawn.push_back(std::move(withdrawn));
  return {};
}

}  // namespace

bool Proposal::is_approved_by(std::string_view signer) const noexcept {
  return std::ranges::binary_search(approvals, signer, {}, &Approval::signer);
}

void Proposal::add(Approval approval) {
  const auto place = place_of(approvals, approval.signer);
  if (place != approvals.end() && place->signer == approval.signer) return;
  approvals.insert(place, std::move(approval));
}

Result<Proposed> make_proposed(base::Ulid id, std::string payload, std::int64_t at_ms,
                               std::int64_t expires_ms, std::string proposer, std::string tenant) {
  auto parsed = decode_payload(base::as_bytes(payload));
  if (!parsed) return fail(std::move(parsed.error()));
  const base::ObjectId payload_b3 = b3::hash(base::as_bytes(payload));
  return Proposed{id,    std::move(payload), std::move(*parsed),  payload_b3,
                  at_ms, expires_ms,         std::move(proposer), std::move(tenant)};
}

std::string journal_proposal(const Proposal& proposal) {
  const Proposed& what = *proposal.what;
  std::string out;
  out.reserve(what.payload.size() + 128 + 96 * proposal.approvals.size());
  base::CborWriter writer(out);
  // Without a tenant the frame is what it was before tenants were recorded.
  const bool has_tenant = !what.tenant.empty();
  writer.array(has_tenant ? kProposalItemsWithTenant : kProposalItems);
  writer.unsigned_number(kProposalFrame).text(what.id.text());
  writer.unsigned_number(static_cast<std::uint64_t>(what.at_ms));
  writer.unsigned_number(static_cast<std::uint64_t>(what.expires_ms));
  writer.text(what.proposer).bytes(base::as_bytes(what.payload));
  writer.array(proposal.approvals.size());
  for (const Approval& approval : proposal.approvals) write(writer.array(2), approval);
  if (has_tenant) writer.text(what.tenant);
  return out;
}

std::string journal_approval(std::string_view id, const Approval& approval) {
  std::string out;
  out.reserve(128);
  base::CborWriter writer(out);
  writer.array(kApprovalItems).unsigned_number(kApprovalFrame).text(id);
  write(writer, approval);
  return out;
}

std::string journal_gone(std::string_view id) {
  std::string out;
  base::CborWriter writer(out);
  writer.array(kGoneItems).unsigned_number(kGoneFrame).text(id);
  return out;
}

std::string journal_withdrawn(const Withdrawn& withdrawn) {
  std::string out;
  base::CborWriter writer(out);
  writer.array(kWithdrawnItems).unsigned_number(kWithdrawnFrame).text(withdrawn.id);
  writer.text(withdrawn.tenant).text(withdrawn.by);
  return out;
}

Result<void> replay(base::ByteView frame, JournalReplay& journal) {
  Pending& pending = journal.pending;
  base::CborReader reader(frame);
  const std::uint64_t items = reader.array();
  const std::uint64_t kind = reader.unsigned_number();
  Result<void> done = fail(Code::Malformed, "no frame of the journal");
  if (kind == kProposalFrame && items == kProposalItems) {
    done = replay_proposal(reader, false, pending);
  }
  if (kind == kProposalFrame && items == kProposalItemsWithTenant) {
    done = replay_proposal(reader, true, pending);
  }
  if (kind == kApprovalFrame && items == kApprovalItems) done = replay_approval(reader, pending);
  if (kind == kGoneFrame && items == kGoneItems) done = replay_gone(reader, pending);
  if (kind == kWithdrawnFrame && items == kWithdrawnItems) done = replay_withdrawn(reader, journal);
  if (done) return done;
  return fail(Code::IntegrityFail, "the journal of proposals is damaged: " + done.error().message);
}

}  // namespace ron::chain
