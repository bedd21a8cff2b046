#include "cli/registry_verify_url.h"

#include <algorithm>
#include <cstring>
#include <optional>
#include <utility>

#include "chain/checkpoint_files.h"
#include "chain/log_check.h"
#include "chain/note.h"
#include "chain/proof.h"
#include "chain/tile_path.h"
#include "cli/registry_client.h"
#include "cli/registry_text.h"

namespace ron::cli {
namespace {

using base::Code;
using base::fail;
using base::Result;
using base::Value;
using chain::TreeHash;
using platform::Task;

constexpr std::uint64_t kPageVersions = 1000;

// The hashes of complete subtrees, as the tiles of a server.
class TileReader final : public chain::TreeReader {
 public:
  explicit TileReader(Session& session) : session_(session) {}

  Task<Result<std::vector<TreeHash>>> read(unsigned level, std::uint64_t first,
                                           std::size_t count) override {
    const std::uint64_t index = first / chain::kTileWidth;
    const std::uint64_t skipped = first % chain::kTileWidth;
    const chain::Tile tile{level, index, skipped + count};
    const auto bytes = co_await session_.objects().get_bytes(
        "/registry/tlog/" + chain::print_tile_path(tile), chain::kTileWidth * sizeof(TreeHash));
    if (!bytes) co_return fail(bytes.error());
    if (bytes->size() != tile.width * sizeof(TreeHash)) {
      co_return fail(Code::UpstreamFail, "a tile has another length than its name says");
    }
    std::vector<TreeHash> hashes(count);
    std::memcpy(hashes.data(), bytes->data() + skipped * sizeof(TreeHash),
                count * sizeof(TreeHash));
    co_return hashes;
  }

 private:
  Session& session_;
};

class ServerVerification {
 public:
  ServerVerification(Session* session, std::string* vkey, const std::vector<chain::KeptNote>* kept)
      : session_(*session),
        vkey_(*vkey),
        kept_(*kept),
        tiles_(*session),
        check_([session](const chain::Problem& problem) {
          session->complain(problem.where, problem.what);
        }) {}

  Task<Result<chain::LogVerdict>> run();

 private:
  Task<Result<void>> read_checkpoints();
  Task<Result<void>> begin_pruned(std::uint64_t head);
  Task<Result<void>> walk();
  Task<Result<void>> check_tiles();
  void add(const std::string& where, const std::string& note);

  Session& session_;
  std::string& vkey_;
  const std::vector<chain::KeptNote>& kept_;
  TileReader tiles_;
  chain::LogCheck check_;
  std::optional<chain::NoteVerifier> verifier_;
  chain::LogVerdict verdict_;
};

Task<Result<chain::LogVerdict>> ServerVerification::run() {
  Result<void> done = co_await read_checkpoints();
  if (done) done = co_await walk();
  if (done) done = co_await check_tiles();
  if (!done) co_return fail(std::move(done.error()));
  verdict_.entries = check_.entries();
  verdict_.replayed = check_.replayed();
  verdict_.with_quorum = check_.with_quorum();
  verdict_.checkpoints = check_.checkpoints().size();
  verdict_.problems = check_.problems();
  verdict_.head = check_.head();
  verdict_.log = check_.log();
  co_return verdict_;
}

void ServerVerification::add(const std::string& where, const std::string& note) {
  const auto text = chain::open_note(note, std::span(&*verifier_, 1));
  auto checkpoint = text ? chain::parse_checkpoint(*text) : fail(text.error());
  if (!checkpoint) return check_.report(where, checkpoint.error().message);
  check_.add({where, std::move(*checkpoint)});
}

Task<Result<void>> ServerVerification::read_checkpoints() {
  const auto document = co_await get_document(&session_, "/registry/checkpoints");
  if (!document) co_return fail(document.error());
  if (vkey_.empty()) {
    vkey_ = text_of(*document, "vkey");
    session_.note("",
                  "checkpoints are verified with the key the server names itself; keep it and "
                  "give it the next time: --vkey " +
                      vkey_);
  }
  auto verifier = chain::NoteVerifier::parse(vkey_);
  if (!verifier) co_return fail(std::move(verifier.error()));
  verifier_ = std::move(*verifier);
  for (const chain::KeptNote& kept : kept_) add(kept.where, kept.note);
  const Value* const list = document->find("checkpoints");
  if (list == nullptr || list->array() == nullptr) {
    co_return fail(Code::UpstreamFail, "the server's answer is no list of checkpoints");
  }
  for (const Value& one : *list->array()) {
    const Value* const note = one.find("note");
    const std::string where = "checkpoint of version " + text_of(one, "version");
    add(where, note != nullptr && note->text() != nullptr ? *note->text() : "");
  }
  co_return Result<void>();
}

// The tree before the first entry from the tiles, and who the signers were from the proof of the
// last version.
Task<Result<void>> ServerVerification::begin_pruned(std::uint64_t head) {
  session_.note("", "versions below " + std::to_string(verdict_.first) +
                        " were pruned: the state is not replayed from here; --data on the "
                        "server's machine does that");
  auto tree = co_await chain::tree_frontier(&tiles_, verdict_.first);
  if (!tree) co_return fail(std::move(tree.error()));
  check_.set_tree(std::move(*tree));
  const auto text = co_await session_.objects().get_bytes("/registry/proof/" + std::to_string(head),
                                                          chain::kMaxProofBytes);
  if (!text) co_return fail(text.error());
  const auto proof = chain::parse_proof(*text);
  const auto proven = proof ? chain::verify_proof(*proof, vkey_) : fail(proof.error());
  if (!proven) {
    check_.report("the proof of version " + std::to_string(head), proven.error().message);
    co_return Result<void>();
  }
  auto summary = chain::decode_summary(base::as_bytes(proof->summary));
  if (summary) check_.set_governance(std::move(*summary));
  co_return Result<void>();
}

Task<Result<void>> ServerVerification::walk() {
  std::optional<std::uint64_t> from;
  std::optional<chain::Head> head;
  std::uint64_t expected = 0;
  for (bool is_first = true;; is_first = false) {
    const auto page = co_await get_log_page(&session_, from, kPageVersions);
    if (!page) co_return fail(page.error());
    if (page->entries.empty()) break;
    if (is_first) expected = verdict_.first = page->entries.front().version;
    if (is_first && verdict_.first != 0) {
      const auto begun = co_await begin_pruned(page->head.version);
      if (!begun) co_return begun;
    }
    for (const LogEntry& entry : page->entries) {
      if (entry.version != expected++) {
        co_return fail(Code::UpstreamFail, "the server leaves versions out");
      }
      check_.take(entry.version, base::as_bytes(entry.bytes));
      session_.progress().add_item();
    }
    head = page->head;
    if (!page->next) break;
    from = page->next;
    co_await platform::Yield();
  }
  check_.finish();
  if (head && check_.head() != head) {
    check_.report("HEAD", "the server says it is version " + std::to_string(head->version) + " " +
                              head->hash.text() + ", and the log ends otherwise");
  }
  co_return Result<void>();
}

// What is served as tiles leads to the newest checkpoint, too, and to those whose entries are gone.
Task<Result<void>> ServerVerification::check_tiles() {
  const auto& all = check_.checkpoints();
  for (const chain::NamedCheckpoint& named : all) {
    if (named.root_confirmed && &named != &all.back()) continue;
    // A checkpoint beyond HEAD was reported already.
    if (!check_.head() || named.checkpoint.version > check_.head()->version) continue;
    const auto root = co_await chain::tree_root(&tiles_, named.checkpoint.size());
    if (!root) co_return fail(root.error());
    if (*root == named.checkpoint.root) continue;
    check_.report(named.where, "its root is not that of the tiles");
  }
  co_return Result<void>();
}

}  // namespace

Task<Result<chain::LogVerdict>> verify_over_http(Session* session, std::string* vkey,
                                                 const std::vector<chain::KeptNote>* kept) {
  ServerVerification verification(session, vkey, kept);
  auto verdict = co_await verification.run();
  co_return verdict;
}

}  // namespace ron::cli
