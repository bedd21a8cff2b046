#include <algorithm>
#include <set>

#include "config/bounds.h"
#include "config/load.h"
#include "config/read.h"

namespace ron::config {
namespace {

// Lower-case words of letters, digits and single underscores: what survives the way through an
// environment variable name and back.
bool is_word(std::string_view word) {
  if (word.empty() || word.front() == '_' || word.back() == '_') return false;
  if (word.find("__") != std::string_view::npos) return false;
  return word.find_first_not_of("abcdefghijklmnopqrstuvwxyz0123456789_") == std::string_view::npos;
}

bool is_path(std::string_view path) {
  while (true) {
    const std::size_t dot = path.find('.');
    if (!is_word(path.substr(0, dot))) return false;
    if (dot == std::string_view::npos) return true;
    path.remove_prefix(dot + 1);
  }
}

class DeclarationCheck {
 public:
  Problems run(const Schema& schema) {
    std::set<std::string> sections;
    for (const AnySection* section : schema.sections()) {
      if (!is_word(section->name())) report(section->name(), "is not a section name");
      if (!sections.insert(section->name()).second) report(section->name(), "is declared twice");
      for (const KeyDecl& decl : section->decls()) key(schema, section->full(decl), decl);
    }
    for (const Schema::Alias& each : schema.aliases()) alias(schema, each);
    if (!problems_.empty()) return problems_;
    // With every default good in itself, an empty load also runs the cross-key checks.
    const Outcome outcome = load(schema, Inputs{});
    return outcome ? Problems{} : outcome.error();
  }

 private:
  void report(const std::string& name, std::string what) {
    problems_.add({Problem::Kind::BadDeclaration, name, Source{}, std::move(what), "", ""});
  }

  void key(const Schema& schema, const std::string& full, const KeyDecl& decl) {
    if (!is_path(decl.name)) report(full, "is not a key name");
    if (!names_.insert(full).second) report(full, "is declared twice");
    if (schema.has_keys_below(full)) report(full, "is a key and a table");
    if (decl.options.required) report(full, "only fields of records can be required");
    common(full, decl);
    for (const KeyDecl& field : decl.fields) {
      const std::string name = full + "[]." + field.name;
      if (!is_word(field.name)) report(name, "is not a field name");
      if (field.options.secret) report(name, "a field of records cannot be secret");
      if (field.kind == Kind::Records) report(name, "records do not nest");
      common(name, field);
    }
  }

  void alias(const Schema& schema, const Schema::Alias& alias) {
    if (!is_path(alias.prefix)) report(alias.prefix, "is not a key name");
    if (!schema.has_section(alias.prefix.substr(0, alias.prefix.find('.')))) {
      report(alias.prefix, "is an alias outside every section");
    }
    if (!schema.is_table(alias.target) && schema.find(alias.target) == nullptr) {
      report(alias.target, "has an alias and no keys");
    }
    if (alias.meant != Meant::Same) {
      const KeyDecl* const key = schema.find(alias.target);
      const Kind kind = alias.meant == Meant::OneLess ? Kind::Count : Kind::Duration;
      if (key == nullptr || key->kind != kind) {
        report(alias.target, "has an alias in a unit that it does not have");
      }
    }
    const auto hides = [&](const std::string& name) {
      return name == alias.prefix || name.starts_with(alias.prefix + ".");
    };
    if (std::ranges::any_of(names_, hides)) report(alias.prefix, "is an alias and a table of keys");
  }

  void common(const std::string& full, const KeyDecl& decl) {
    const KeyOptions& o = decl.options;
    if (decl.help.empty()) report(full, "has no help text");
    if (decl.kind == Kind::Choice && decl.choices.empty()) report(full, "has no choices");
    if (o.secret && decl.kind == Kind::Records) report(full, "records cannot be secret");
    if (o.secret && !decl.default_text.empty()) report(full, "a secret cannot have a default");
    for (const std::string* bound : {&o.min, &o.max, &o.safe_min, &o.safe_max}) {
      if (!bound->empty() && !is_bound(decl, *bound)) report(full, "bad bound " + *bound);
    }
    const bool ordered =
        bounds_ordered(decl, o.min, o.max) && bounds_ordered(decl, o.min, o.safe_min) &&
        bounds_ordered(decl, o.safe_min, o.safe_max) && bounds_ordered(decl, o.safe_max, o.max);
    if (!ordered) report(full, "bounds are not in the order min, safe_min, safe_max, max");
    if (o.required) return;
    read_value(decl, Raw::word(decl.default_text), ReadContext{full, Source{}, false, problems_});
  }

  Problems problems_;
  std::set<std::string> names_;
};

}  // namespace

Problems check_declarations(const Schema& schema) { return DeclarationCheck().run(schema); }

}  // namespace ron::config
