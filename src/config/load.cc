#include "config/load.h"

#include <algorithm>

#include "config/read.h"

namespace ron::config {
namespace {

constexpr std::string_view kDangerOk = "safety.danger_ok";

class Loader {
 public:
  Loader(const Schema& schema, const Inputs& inputs)
      : schema_(schema), layered_(collect(schema, inputs, problems_)) {
    file_is_readable_ = !problems_.has(Problem::Kind::Syntax);
    // A bad value of the consent itself is reported with its section below; here it means "no".
    Problems ignored;
    const KeyDecl& consent = *schema.find(kDangerOk);
    const auto value = read(consent, std::string(kDangerOk), ignored);
    danger_ok_ = value && value->value.as<bool>();
  }

  Outcome run() {
    for (const AnySection* section : schema_.sections()) load_section(*section);
    if (!problems_.empty()) return std::unexpected(std::move(problems_));
    return std::make_shared<const Config>(std::move(entries_), std::move(built_));
  }

 private:
  std::optional<Entry> read(const KeyDecl& decl, const std::string& key, Problems& problems) const {
    const auto found = layered_.values.find(key);
    const bool given = found != layered_.values.end();
    const Raw raw = given ? found->second.raw : Raw::word(decl.default_text);
    const Source source = given ? found->second.source : Source{};
    auto value = read_value(decl, raw, ReadContext{key, source, danger_ok_, problems});
    if (!value) return std::nullopt;
    return Entry{key, &decl, std::move(*value), source};
  }

  void load_section(const AnySection& section) {
    const std::size_t before = problems_.count();
    const std::size_t first = entries_.size();
    for (const KeyDecl& decl : section.decls()) {
      auto entry = read(decl, section.full(decl), problems_);
      if (entry) entries_.push_back(std::move(*entry));
    }
    // Checks on half a section, or on a section whose file was unreadable, would mislead.
    if (problems_.count() != before || !file_is_readable_) return;
    Problems found;
    auto value = section.build(std::span(entries_).subspan(first), found);
    for (Problem problem : found.list()) {
      problem.key = section.name() + (problem.key.empty() ? "" : "." + problem.key);
      problem.source = source_of(problem.key);
      problems_.add(std::move(problem));
    }
    built_.push_back({&section, std::move(value)});
  }

  // Of the key, or of the records key it is a field of (gateway.routes[2].prefix).
  Source source_of(const std::string& key) const {
    const auto found = layered_.values.find(key.substr(0, key.find('[')));
    return found == layered_.values.end() ? Source{} : found->second.source;
  }

  const Schema& schema_;
  Problems problems_;
  Layered layered_;
  bool file_is_readable_ = true;
  bool danger_ok_ = false;
  std::vector<Entry> entries_;
  std::vector<Config::Built> built_;
};

}  // namespace

const Entry* Config::find(std::string_view full_key) const noexcept {
  const auto found = std::find_if(entries_.begin(), entries_.end(),
                                  [&](const Entry& entry) { return entry.key == full_key; });
  return found == entries_.end() ? nullptr : &*found;
}

Outcome load(const Schema& schema, const Inputs& inputs) { return Loader(schema, inputs).run(); }

}  // namespace ron::config
