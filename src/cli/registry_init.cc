#include "cli/registry_init.h"

#include <utility>

#include "chain/frame_log.h"
#include "chain/genesis.h"
#include "chain/state.h"
#include "cli/session.h"
#include "cli/signer_key.h"
#include "cli/wires.h"
#include "platform/posix/files.h"

namespace ron::cli {
namespace {

using base::Code;
using base::fail;
using base::Result;
using platform::Task;

Result<chain::SignerSet> read_signers(const std::vector<std::string>& files,
                                      std::uint64_t threshold) {
  std::vector<chain::Signer> signers;
  for (const std::string& file : files) {
    auto signer = read_signer(file);
    if (!signer) return fail(std::move(signer.error()));
    signers.push_back(std::move(*signer));
  }
  return chain::make_signer_set(threshold, std::move(signers));
}

Task<int> init(Session* session, const std::string* directory, const chain::SignerSet* signers) {
  const auto head = co_await begin_log(session->host(), *directory, *signers);
  if (!head) {
    session->complain(*directory, head.error());
    co_return session->exit_code();
  }
  std::string text = "log " + head->hash.text() + " in " + *directory + "\nthreshold " +
                     std::to_string(signers->threshold) + "\n";
  for (const chain::Signer& signer : signers->signers) {
    text += "signer " + signer.id + "  " + signer.name + "\n";
  }
  session->print(text + "next: ron up --data " + directory->substr(0, directory->rfind('/')) +
                 "\n");
  co_return session->exit_code();
}

}  // namespace

Task<Result<chain::Head>> begin_log(platform::Host host, std::string directory,
                                    chain::SignerSet signers) {
  auto made = co_await host.disk.make_directory(directory);
  if (!made) co_return fail(std::move(made.error()));
  chain::FrameLog log({.disk = &host.disk,
                       .random = &host.random,
                       .lock = &kRegistryLogLock,
                       .directory = directory + "/log",
                       .on_trouble = {}});
  const chain::FrameVisitor ignore = [](const chain::FrameView&) { return Result<void>(); };
  auto opened = co_await log.open(0, ignore);
  if (!opened) co_return fail(std::move(opened.error()));
  if (log.next() != 0) {
    co_return fail(Code::PreconditionFailed,
                   "there is a log already; its signers change by a proposal of kind `signers`");
  }
  chain::State state;
  std::vector<std::string> frames;
  frames.push_back(chain::genesis_entry(signers, host.clock.unix_ms(), host.random));
  const auto taken =
      chain::take_next(state, base::as_bytes(frames.front()), chain::Signatures::Verify);
  if (!taken) co_return fail(taken.error());
  auto written = co_await log.append(std::move(frames));
  if (written) written = co_await log.close();
  if (!written) co_return fail(std::move(written.error()));
  co_return state.head();
}

int registry_init(const std::vector<std::string>& public_files, std::uint64_t threshold,
                  const std::string& data) {
  const auto signers = read_signers(public_files, threshold);
  if (!signers) return bad_usage("registry init: " + signers.error().message);
  const auto made = platform::posix::make_private_directory(data);
  if (!made) return failed(made.error().message);
  const std::string directory = data + "/registry";
  const ClientOptions options;
  return run_session("registry init", options,
                     [&](Session& session) { return init(&session, &directory, &*signers); });
}

}  // namespace ron::cli
