#include "services/kit/node_key.h"

#include <utility>

#include "services/kit/key_file.h"

namespace ron::kit {

using base::Result;
using platform::Task;

Task<Result<NodeKey>> load_node_key(platform::Disk* disk, platform::Random* random,
                                    std::string directory) {
  Result<auth::SigningKey> key = base::fail(base::Code::NotFound, "there is no key yet");
  if (directory.empty()) {
    key = new_signing_key(*random);
  } else {
    key = co_await load_or_make_key(disk, random, std::move(directory),
                                    std::string(auth::kNodeKeyFile));
  }
  if (!key) co_return base::fail(std::move(key.error()));
  co_return std::make_shared<const auth::SigningKey>(std::move(*key));
}

}  // namespace ron::kit
