#include "platform/posix/local_tree.h"

#include <array>
#include <cerrno>
#include <climits>
#include <memory>

#include <dirent.h>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "platform/disk_error.h"

namespace ron::platform::posix {
namespace {

using base::Code;
using base::fail;
using base::Result;

constexpr mode_t kReaders = S_IRUSR | S_IRGRP | S_IROTH;
constexpr mode_t kRunners = S_IXUSR | S_IXGRP | S_IXOTH;
constexpr mode_t kPermissions = S_IRWXU | S_IRWXG | S_IRWXO;

std::unexpected<base::Error> failed(std::string_view what, std::string_view path) {
  return fail(disk_error(what, path, errno));
}

struct Split {
  std::string_view directory;
  std::string name;
};
Split split(std::string_view path) {
  const std::size_t slash = path.rfind('/');
  if (slash == std::string_view::npos) return {"", std::string(path)};
  return {path.substr(0, slash), std::string(path.substr(slash + 1))};
}

// Whoever may read may run it.
mode_t mode_with(mode_t mode, bool executable) noexcept {
  mode &= kPermissions & ~kRunners;
  return executable ? mode | ((mode & kReaders) >> 2U) : mode;
}

std::array<timespec, 2> times_of(std::int64_t modified_s) noexcept {
  return {timespec{.tv_sec = 0, .tv_nsec = UTIME_OMIT},
          timespec{.tv_sec = modified_s, .tv_nsec = 0}};
}

bool is_segment(std::string_view text) noexcept {
  return !text.empty() && text != "." && text != ".." && !text.contains('/') &&
         !text.contains('\0');
}

std::unexpected<base::Error> leads_out(std::string_view path) {
  return fail(Code::Malformed, "'" + std::string(path) + "' leads out of the directory");
}

bool set_time(int directory, const std::string& name, std::optional<std::int64_t> modified_s) {
  if (!modified_s) return true;
  const auto times = times_of(*modified_s);
  return utimensat(directory, name.c_str(), times.data(), AT_SYMLINK_NOFOLLOW) == 0;
}

bool leads_to(int directory, const std::string& name, const std::string& target) {
  std::array<char, PATH_MAX> found{};
  const ssize_t size = readlinkat(directory, name.c_str(), found.data(), found.size());
  return size >= 0 && std::string_view(found.data(), static_cast<std::size_t>(size)) == target;
}

// Under the first name that is free: whatever has another belongs to somebody, or will. None with
// errno set.
std::optional<std::string> make_draft_link(int directory, const std::string& target,
                                           const std::string& shown_directory,
                                           const LocalTree::Taken& taken) {
  for (unsigned number = 0;; ++number) {
    std::string name = ".ron-link-" + std::to_string(number);
    if (taken && taken(shown_directory + name)) continue;
    if (symlinkat(target.c_str(), directory, name.c_str()) == 0) return name;
    if (errno != EEXIST) return std::nullopt;
  }
}

bool is_link(int directory, const std::string& name) {
  struct stat status{};
  return fstatat(directory, name.c_str(), &status, AT_SYMLINK_NOFOLLOW) == 0 &&
         S_ISLNK(status.st_mode);
}

}  // namespace

Result<LocalTree> LocalTree::open(const std::string& path, Options options) {
  if (auto made = make_public_directories(path, options.mode); !made)
    return fail(std::move(made.error()));
  Descriptor root(::open(path.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
  if (!root.valid()) return failed("cannot open", path);
  auto lock = PathLock::directory(path);
  if (!lock) return fail(std::move(lock.error()));
  return LocalTree(std::move(root), std::move(*lock), options);
}

// O_PATH and O_DIRECTORY with O_NOFOLLOW open a directory and nothing else.
Result<Descriptor> LocalTree::step(int from, const std::string& segment, std::string_view shown,
                                   Missing missing) const {
  constexpr int kFlags = O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC;
  constexpr int kReadFlags = O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC;
  if (!is_segment(segment)) return leads_out(shown);
  Descriptor found(openat(from, segment.c_str(), kFlags));
  if (found.valid()) return found;
  if (missing == Missing::Fail) return failed("cannot open", shown);
  if (errno == ENOTDIR) {
    const bool replaced =
        options_.force && is_link(from, segment) && unlinkat(from, segment.c_str(), 0) == 0;
    if (!replaced) {
      return fail(Code::PreconditionFailed,
                  "'" + std::string(shown) + "' is there and is not a directory" +
                      (is_link(from, segment) ? " but a symbolic link; --force replaces it" : ""));
    }
  } else if (errno != ENOENT) {
    return failed("cannot open", shown);
  }
  const bool is_ours = mkdirat(from, segment.c_str(), S_IRWXU) == 0;
  if (!is_ours && errno != EEXIST) return failed("cannot make directory", shown);
  Descriptor made(openat(from, segment.c_str(), is_ours ? kReadFlags : kFlags));
  if (!made.valid()) return failed("cannot open", shown);
  if (is_ours && fchmod(made.get(), directory_mode(options_.mode)) != 0) {
    return failed("cannot make directory", shown);
  }
  return made;
}

Result<Descriptor> LocalTree::directory(std::string_view path, Missing missing) const {
  Descriptor itself(fcntl(root_.get(), F_DUPFD_CLOEXEC, 0));
  if (!itself.valid()) return failed("cannot open", path);
  std::optional<Descriptor> at(std::move(itself));
  for (std::size_t begin = 0; !path.empty() && begin <= path.size();) {
    const std::size_t end = std::min(path.find('/', begin), path.size());
    auto next =
        step(at->get(), std::string(path.substr(begin, end - begin)), path.substr(0, end), missing);
    if (!next) return fail(std::move(next.error()));
    at.emplace(std::move(*next));
    begin = end + 1;
  }
  return std::move(*at);
}

Result<LocalTree::Place> LocalTree::place(std::string_view path, Missing missing) const {
  Split where = split(path);
  if (!is_segment(where.name)) return leads_out(path);
  auto in = directory(where.directory, missing);
  if (!in) return fail(std::move(in.error()));
  return Place{std::move(*in), std::move(where.name)};
}

Result<Descriptor> LocalTree::parent(std::string_view path) const {
  auto in = place(path, Missing::Make);
  if (!in) return fail(std::move(in.error()));
  return std::move(in->directory);
}

Result<std::optional<LocalTree::Present>> LocalTree::find(std::string_view path) const {
  const auto in = place(path, Missing::Fail);
  // Whatever keeps it from being found is told when it is to be made.
  if (!in) return std::nullopt;
  Descriptor file(openat(in->directory.get(), in->name.c_str(),
                         O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
  struct stat status{};
  if (!file.valid() || fstat(file.get(), &status) != 0 || !S_ISREG(status.st_mode)) {
    return std::nullopt;
  }
  return Present{std::move(file), static_cast<std::uint64_t>(status.st_size)};
}

Result<void> LocalTree::set(const Present& present, const Attributes& attributes) const {
  struct stat status{};
  if (fstat(present.file.get(), &status) != 0) return failed("cannot read", "the file");
  const bool executable = (status.st_mode & S_IXUSR) != 0;
  if (executable != attributes.executable) {
    const mode_t mode = mode_with(status.st_mode, attributes.executable);
    if (fchmod(present.file.get(), mode) != 0) return failed("cannot set the mode of", "the file");
  }
  if (!attributes.modified_s || status.st_mtim.tv_sec == *attributes.modified_s) return {};
  const auto times = times_of(*attributes.modified_s);
  if (futimens(present.file.get(), times.data()) != 0) {
    return failed("cannot set the time of", "the file");
  }
  return {};
}

Result<void> LocalTree::check_free(std::string_view path) const {
  const auto in = place(path, Missing::Make);
  if (!in) return fail(in.error());
  return check_replaceable_at(in->directory.get(), in->name, path, options_.force);
}

bool LocalTree::may_be_draft(std::string_view path) const {
  const auto in = place(path, Missing::Fail);
  if (!in) return in.error().code == Code::NotFound;
  return may_be_draft_at(in->directory.get(), in->name);
}

Result<std::vector<std::string>> LocalTree::names_in(std::string_view path) const {
  const auto itself = directory(path, Missing::Fail);
  if (!itself && itself.error().code == Code::NotFound) return std::vector<std::string>();
  if (!itself) return fail(itself.error());
  const int readable = openat(itself->get(), ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (readable < 0) return failed("cannot list", path);
  struct Close {
    void operator()(DIR* opened) const noexcept { closedir(opened); }
  };
  const std::unique_ptr<DIR, Close> opened(fdopendir(readable));
  if (opened == nullptr) {
    close(readable);
    return failed("cannot list", path);
  }
  std::vector<std::string> names;
  for (;;) {
    errno = 0;
    const dirent* const entry = readdir(opened.get());
    if (entry == nullptr) break;
    names.emplace_back(entry->d_name);
  }
  if (errno != 0) return failed("cannot list", path);
  return names;
}

bool LocalTree::remove_draft(std::string_view draft) const {
  const auto in = place(draft, Missing::Fail);
  if (!in || !may_be_draft_at(in->directory.get(), in->name)) return false;
  const Descriptor file(openat(in->directory.get(), in->name.c_str(),
                               O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
  if (!file.valid() || flock(file.get(), LOCK_EX | LOCK_NB) != 0) return false;
  return unlinkat(in->directory.get(), in->name.c_str(), 0) == 0;
}

Result<void> LocalTree::write(std::string_view draft, base::ByteView bytes) const {
  constexpr int kFlags = O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC;
  constexpr mode_t kMode = 0600;  // until it is published
  const auto in = place(draft, Missing::Make);
  if (!in) return fail(in.error());
  if (unlinkat(in->directory.get(), in->name.c_str(), 0) != 0 && errno != ENOENT) {
    return failed("cannot replace", draft);
  }
  const Descriptor file(openat(in->directory.get(), in->name.c_str(), kFlags, kMode));
  if (!file.valid()) return failed("cannot write", draft);
  return write_stream(file.get(), bytes, draft);
}

Result<void> LocalTree::publish(std::string_view draft, std::string_view path,
                                const Attributes& attributes) const {
  const auto in = place(path, Missing::Make);
  if (!in) return fail(in.error());
  const std::string from = split(draft).name;
  if (!is_segment(from)) return leads_out(draft);
  auto free = check_replaceable_at(in->directory.get(), in->name, path, options_.force);
  if (!free) return free;
  const Descriptor file(
      openat(in->directory.get(), from.c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
  if (!file.valid()) return failed("cannot open", draft);
  const mode_t mode = mode_with(options_.mode, attributes.executable);
  if (fchmod(file.get(), mode) != 0) return failed("cannot set the mode of", draft);
  if (attributes.modified_s) {
    const auto times = times_of(*attributes.modified_s);
    if (futimens(file.get(), times.data()) != 0) return failed("cannot set the time of", draft);
  }
  if (renameat(in->directory.get(), from.c_str(), in->directory.get(), in->name.c_str()) != 0) {
    return failed("cannot write", path);
  }
  return {};
}

Result<void> LocalTree::make_link(std::string_view path, const std::string& target,
                                  std::optional<std::int64_t> modified_s,
                                  const Taken& taken) const {
  const auto in = place(path, Missing::Make);
  if (!in) return fail(in.error());
  const int directory = in->directory.get();
  const std::string shown_directory(path.substr(0, path.size() - in->name.size()));
  if (!leads_to(directory, in->name, target)) {
    const bool force = options_.force || is_link(directory, in->name);
    auto free = check_replaceable_at(directory, in->name, path, force);
    if (!free) return free;
    const auto draft = make_draft_link(directory, target, shown_directory, taken);
    if (!draft) return failed("cannot make the link", path);
    if (renameat(directory, draft->c_str(), directory, in->name.c_str()) != 0) {
      const int error = errno;
      unlinkat(directory, draft->c_str(), 0);
      return fail(disk_error("cannot make the link", path, error));
    }
  }
  if (!set_time(directory, in->name, modified_s)) return failed("cannot set the time of", path);
  return {};
}

Result<void> LocalTree::make_directory(std::string_view path,
                                       std::optional<std::int64_t> modified_s) const {
  const auto made = directory(path, Missing::Make);
  if (!made) return fail(made.error());
  const auto in = place(path, Missing::Make);
  if (!in) return fail(in.error());
  if (!set_time(in->directory.get(), in->name, modified_s))
    return failed("cannot set the time of", path);
  return {};
}

Result<void> LocalTree::sync() const {
  const Descriptor itself(openat(root_.get(), ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!itself.valid() || syncfs(itself.get()) != 0) return failed("cannot sync", "the directory");
  return {};
}

}  // namespace ron::platform::posix
