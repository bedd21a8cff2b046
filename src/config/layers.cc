#include "config/layers.h"

#include <algorithm>
#include <cassert>
#include <set>
#include <string_view>

#include "config/nearest.h"
#include "config/toml.h"

namespace ron::config {
namespace {

constexpr std::string_view kEnvironmentPrefix = "RON_";
// No declared key is nearly as long; deeper tables of a file are reported without being walked, so
// that long names times many members cannot add up.
constexpr std::size_t kMaxPathBytes = 512;

void unknown(const Schema& schema, std::string key, Source source, Problems& problems) {
  const bool is_variable = source.layer == Layer::Environment;
  Problem problem{
      Problem::Kind::UnknownKey, printable(key), std::move(source), "unknown key", "", ""};
  if (!problems.full()) problem.nearest = schema.nearest_key(key);
  // What the user has to write instead is a variable, too.
  if (is_variable && !problem.nearest.empty()) problem.nearest = environment_name(problem.nearest);
  problems.add(std::move(problem));
}

// A member name as a path part. Names that are not bare are quoted, so that the key
// "limits.max_body_bytes" in quotes is not taken for the path limits.max_body_bytes.
std::string path_part(const std::string& name) {
  const bool bare = !name.empty() && std::all_of(name.begin(), name.end(), [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
           c == '-';
  });
  return bare && name.size() <= kMaxPathBytes ? name : toml_string(printable(name));
}

// The values of one layer on their way into the result. Two spellings of one key are an error:
// which of them was meant to win is nobody's guess.
class LayerValues {
 public:
  LayerValues(const Schema& schema, Layered& out, Problems& problems)
      : schema_(schema), out_(out), problems_(problems) {}

  void put(const std::string& key, const std::string& declared, Raw raw, Source source) {
    const auto [known, is_first] = spelled_.emplace(declared, key);
    if (!is_first && known->second != key) {
      problems_.add({Problem::Kind::Conflict, key, std::move(source),
                     "is given twice, also as " + known->second, "", ""});
      return;
    }
    auto converted = schema_.converted(key, std::move(raw));
    if (!converted) {
      problems_.add(
          {Problem::Kind::WrongType, key, std::move(source), std::move(converted.error()), "", ""});
      return;
    }
    out_.values[declared] = {std::move(*converted), std::move(source)};
  }

 private:
  const Schema& schema_;
  Layered& out_;
  Problems& problems_;
  std::map<std::string, std::string> spelled_;
};

// Walks the parsed file and sorts its leaves into known and unknown keys.
class FileLayer {
 public:
  FileLayer(const Schema& schema, const Inputs& inputs, Layered& out, Problems& problems)
      : schema_(schema), inputs_(inputs), out_(schema, out, problems), problems_(problems) {}

  void collect() {
    auto root = parse_toml(inputs_.file_text);
    if (!root) {
      Source source{Layer::File, inputs_.file_name, root.error().line, root.error().column};
      problems_.add({Problem::Kind::Syntax, "", std::move(source), root.error().what, "", ""});
      return;
    }
    for (Raw& section : root->items) top(section);
  }

 private:
  Source at(const Raw& raw) const { return {Layer::File, inputs_.file_name, raw.line, 0}; }

  void complain(const std::string& key, const Raw& raw, std::string what, std::string near) {
    problems_.add(
        {Problem::Kind::UnknownKey, printable(key), at(raw), std::move(what), "", std::move(near)});
  }

  void top(Raw& raw) {
    const std::string name = path_part(raw.name);
    if (!schema_.knows(name)) {
      const bool table = raw.shape == Raw::Shape::Table;
      const std::string near = problems_.full() ? "" : schema_.nearest_section(name);
      complain(name, raw, table ? "unknown section" : "is not inside a section",
               near.empty() ? "" : "[" + near + "]");
    } else if (raw.shape != Raw::Shape::Table) {
      complain(name, raw, "is a section: write [" + name + "]", "");
    } else if (schema_.has_section(name)) {
      walk(raw, name);
    }
  }

  void walk(Raw& table, const std::string& path) {
    for (Raw& member : table.items) {
      const std::string key = path + "." + path_part(member.name);
      const bool nested = member.shape == Raw::Shape::Table;
      const std::string declared = schema_.declared(key);
      // The name of a key may also begin other spellings of keys.
      if (!declared.empty() && !(nested && schema_.is_table(key))) {
        const Source source = at(member);
        out_.put(key, declared, std::move(member), source);
      } else if (nested && !member.items.empty() && key.size() <= kMaxPathBytes) {
        walk(member, key);
      } else if (!schema_.is_table(key)) {
        unknown(schema_, key, at(member), problems_);
      } else if (!nested) {
        complain(key, member, "is a table: write [" + key + "]", "");
      }
    }
  }

  const Schema& schema_;
  const Inputs& inputs_;
  LayerValues out_;
  Problems& problems_;
};

// `RON_STORAGE__MAX_CONNS` as `storage.max_conns`, whatever the case.
std::string key_of_variable(std::string_view name) {
  std::string key;
  for (std::size_t i = 0; i < name.size(); ++i) {
    const char c = name[i];
    if (c == '_' && name.substr(i, 2) == "__") {
      key += '.';
      ++i;
    } else {
      key += c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
    }
  }
  return key;
}

// A variable's name as people write it who do not know that a dot is two underscores:
// STORAGE_CACHE_BYTES for storage.cache_bytes.
std::string squeezed(std::string_view key) {
  std::string out;
  for (const char c : key) {
    const char plain = c == '.' ? '_' : c;
    if (plain != '_' || !out.ends_with('_')) out += plain;
  }
  return out;
}

// Every way to write every key.
std::vector<std::string> spellings(const Schema& schema) {
  std::vector<std::string> keys;
  for (const AnySection* section : schema.sections()) {
    for (const KeyDecl& decl : section->decls()) {
      keys.push_back(section->full(decl));
      for (const Schema::Alias& alias : schema.aliases()) {
        const std::string full = section->full(decl);
        if (full != alias.target && !full.starts_with(alias.target + ".")) continue;
        keys.push_back(alias.prefix + full.substr(alias.target.size()));
      }
    }
  }
  return keys;
}

// The key that was probably meant by a variable of no section; empty when none was: the prefix is
// not ours alone. Either the underscores are wrong, or a part of the path is missing, or there is a
// typing error. A key that several services have is the last one's, who is in front.
std::string key_meant(const Schema& schema, const std::string& given) {
  const std::vector<std::string> keys = spellings(schema);
  std::vector<std::string> plain;
  const std::string wanted = squeezed(given);
  std::set<std::string> same_ending;  // without their sections
  std::string last_with_it;
  for (const std::string& key : keys) {
    plain.push_back(squeezed(key));
    if (plain.back() == wanted) return key;
    for (std::size_t dot = key.find('.'); dot != std::string::npos; dot = key.find('.', dot + 1)) {
      const std::string ending = squeezed(std::string_view(key).substr(dot + 1));
      const std::string in_section = key.substr(0, key.find('.')) + "_" + ending;
      if (ending != wanted && in_section != wanted) continue;
      last_with_it = schema.declared(key);
      same_ending.insert(last_with_it.substr(last_with_it.find('.')));
    }
  }
  if (same_ending.size() == 1) return last_with_it;
  const std::string near = nearest(wanted, plain);
  if (near.empty()) return "";
  return keys[static_cast<std::size_t>(std::ranges::find(plain, near) - plain.begin())];
}

void collect_environment(const Schema& schema, const Inputs& inputs, Layered& out,
                         Problems& problems) {
  LayerValues values(schema, out, problems);
  for (const auto& [name, value] : inputs.environment) {
    if (!name.starts_with(kEnvironmentPrefix)) continue;
    const std::string key = key_of_variable(std::string_view(name).substr(4));
    const std::size_t dot = key.find('.');
    const std::string section = dot == std::string::npos ? "" : key.substr(0, dot);
    Source source{Layer::Environment, printable(name), 0, 0};
    if (!schema.has_section(section)) {
      const std::string meant = schema.knows(section) ? "" : key_meant(schema, key);
      if (meant.empty()) continue;
      problems.add({Problem::Kind::UnknownKey, "", std::move(source), "unknown variable", "",
                    environment_name(meant)});
      continue;
    }
    const std::string declared = schema.declared(key);
    if (declared.empty()) {
      unknown(schema, key, std::move(source), problems);
    } else if (name != environment_name(key)) {
      problems.add({Problem::Kind::UnknownKey, key, std::move(source),
                    "write the variable as " + environment_name(key), "", ""});
    } else {
      values.put(key, declared, Raw::word(value), std::move(source));
    }
  }
}

void collect_flags(const Schema& schema, const Inputs& inputs, Layered& out, Problems& problems) {
  LayerValues values(schema, out, problems);
  for (const std::string& flag : inputs.flags) {
    const std::size_t equals = flag.find('=');
    const Source source{Layer::Flag, "", 0, 0};
    // What is not KEY=VALUE may be a secret gone astray: it is not repeated.
    if (equals == std::string::npos || equals == 0) {
      problems.add({Problem::Kind::Syntax, "", source,
                    "a setting must be KEY=VALUE, for example storage.server.max_rps=1000", "",
                    ""});
      continue;
    }
    const std::string key = flag.substr(0, equals);
    const std::string section = key.substr(0, key.find('.'));
    const std::string declared = schema.declared(key);
    if (!declared.empty()) {
      values.put(key, declared, Raw::word(flag.substr(equals + 1)), source);
    } else if (schema.has_section(section) || !schema.knows(section)) {
      unknown(schema, key, source, problems);
    }
  }
}

}  // namespace

Layered collect(const Schema& schema, const Inputs& inputs, Problems& problems) {
  Layered out;
  for (const auto& [key, value] : inputs.defaults) {
    assert(schema.find(key) != nullptr && "a default of a declared key");
    out.values[key] = {Raw::word(value), Source{}};
  }
  FileLayer(schema, inputs, out, problems).collect();
  collect_environment(schema, inputs, out, problems);
  collect_flags(schema, inputs, out, problems);
  return out;
}

}  // namespace ron::config
