#include "cli/input_stream.h"

namespace ron::cli {

using base::Result;
using platform::Task;

Task<Result<void>> InputStream::open() {
  if (path_.empty()) co_return Result<void>();
  auto opened =
      co_await session_.off_loop([path = path_] { return platform::posix::open_input(path); });
  if (!opened) co_return base::fail(std::move(opened.error()));
  opened_ = std::make_shared<const platform::posix::Descriptor>(std::move(*opened));
  co_return Result<void>();
}

Task<Result<base::Buffer>> InputStream::read(base::Buffer into) {
  auto bytes = co_await session_.off_loop([from = opened_, path = path_,
                                           buffer = std::move(into)]() mutable {
    const int stream = from ? from->get() : platform::posix::kStandardInput;
    return platform::posix::read_stream(stream, std::move(buffer), from ? path : "standard input");
  });
  co_return std::move(bytes);
}

}  // namespace ron::cli
