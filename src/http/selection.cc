#include "http/selection.h"

#include "http/range.h"

namespace ron::http {

Selection select(const RequestHead& request, const EntityTag& tag, std::uint64_t length) noexcept {
  using Kind = Selection::Kind;
  const Selection whole{Kind::Whole, 0, length};
  const Verdict verdict = evaluate(request, tag);
  if (verdict == Verdict::NotModified) return {Kind::NotModified};
  if (verdict == Verdict::PreconditionFailed) return {Kind::PreconditionFailed};
  const auto range = request.get(KnownField::Range);
  if (!range || verdict == Verdict::IgnoreRange || request.method != Method::Get) return whole;
  const RangeOutcome outcome = parse_range(*range, length);
  switch (outcome.kind) {
    case RangeKind::None:
      return whole;
    case RangeKind::Satisfiable:
      return {Kind::Part, outcome.range.first, outcome.range.length()};
    case RangeKind::Unsatisfiable:
      return {Kind::Unsatisfiable};
    case RangeKind::Malformed:
      return {Kind::Malformed};
  }
  return whole;
}

}  // namespace ron::http
