//===- PlanReportSvg.cpp - Drawings of reports ----------------------------===//
//
// Part of the Chimera project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "PlanReportSvg.h"

#include "Chimera/Report/PlanReportText.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FormatVariadic.h"

#include <cmath>

using namespace llvm;
using namespace chimera;
using namespace chimera::report;

std::string report::escape(StringRef text) {
  std::string escaped;
  raw_string_ostream os(escaped);
  printHTMLEscaped(text, os);
  return escaped;
}

StringRef report::getAlternativeName(const ChainPlan &plan) {
  return plan.outcome == ChainOutcome::Fused ? "separate operators"
                                             : "one kernel";
}

//===----------------------------------------------------------------------===//
// Canvas
//===----------------------------------------------------------------------===//

namespace {

struct Point {
  double x = 0, y = 0;
};

/// Writes the elements of one drawing. Lengths are in pixels.
class Canvas {
public:
  Canvas(raw_ostream &os, double width, double height, StringRef title)
      : os(os) {
    os << formatv("<svg role=\"img\" width=\"{0:F0}\" height=\"{1:F0}\" "
                  "viewBox=\"0 0 {0:F0} {1:F0}\"><title>{2}</title>\n",
                  width, height, escape(title));
  }
  ~Canvas() { os << "</svg>\n"; }

  void box(Point corner, double width, double height, StringRef style,
           StringRef title) {
    os << formatv("<rect class=\"{0}\" x=\"{1:F1}\" y=\"{2:F1}\" "
                  "width=\"{3:F1}\" height=\"{4:F1}\" rx=\"2\"><title>{5}"
                  "</title></rect>\n",
                  style, corner.x, corner.y, std::max(width, 1.0),
                  std::max(height, 0.5), escape(title));
  }
  void line(Point from, Point to, StringRef style) {
    os << formatv("<line class=\"{0}\" x1=\"{1:F1}\" y1=\"{2:F1}\" "
                  "x2=\"{3:F1}\" y2=\"{4:F1}\"/>\n",
                  style, from.x, from.y, to.x, to.y);
  }
  void circle(Point centre, double radius, StringRef style, StringRef title) {
    os << formatv("<circle class=\"{0}\" cx=\"{1:F1}\" cy=\"{2:F1}\" "
                  "r=\"{3:F1}\"><title>{4}</title></circle>\n",
                  style, centre.x, centre.y, radius, escape(title));
  }
  /// A mark whose tip is at `tip`.
  void triangle(Point tip, double size, StringRef style, StringRef title) {
    os << formatv(
        "<path class=\"{0}\" d=\"M{1:F1} {2:F1}l{3:F1} {4:F1}h{5:F1}z\">"
        "<title>{6}</title></path>\n",
        style, tip.x, tip.y, size, 2 * size, -2 * size, escape(title));
  }
  /// A bow between two points on a vertical line, `reach` to the right.
  void bow(Point from, Point to, double reach, StringRef style,
           StringRef title) {
    os << formatv("<path class=\"{0}\" d=\"M{1:F1} {2:F1}C{3:F1} {2:F1} "
                  "{3:F1} {5:F1} {4:F1} {5:F1}\"><title>{6}</title></path>\n",
                  style, from.x, from.y, from.x + reach, to.x, to.y,
                  escape(title));
  }
  /// `anchor` is start, middle or end.
  void text(Point at, StringRef words, StringRef anchor = "start",
            StringRef style = "label") {
    os << formatv("<text class=\"{0}\" x=\"{1:F1}\" y=\"{2:F1}\" "
                  "text-anchor=\"{3}\">{4}</text>\n",
                  style, at.x, at.y, anchor, escape(words));
  }

private:
  raw_ostream &os;
};

} // namespace

static std::string colour(StringRef kind, unsigned index) {
  return formatv("{0} c{1}", kind, index % kNumColours);
}

//===----------------------------------------------------------------------===//
// Bytes
//===----------------------------------------------------------------------===//

void report::drawBytes(raw_ostream &os, const ChainPlan &plan) {
  struct Bar {
    StringRef name, style;
    int64_t bytes;
  };
  constexpr double barHeight = 16, gap = 14, left = 190, longest = 330;
  unsigned numLevels = plan.machine.levels.size();
  unsigned numBars = plan.alternative.empty() ? 2 : 3;
  double groupHeight = numBars * (barHeight + 3) + gap;
  Canvas canvas(os, 640, numLevels * groupHeight, "Bytes moved at each level");
  for (unsigned level = 0; level < numLevels; ++level) {
    SmallVector<Bar, 3> bars;
    bars.push_back(
        {"this plan", "plan", ChainPlan::bytesOf(plan.kernels, level)});
    if (!plan.alternative.empty())
      bars.push_back({getAlternativeName(plan), "other",
                      ChainPlan::bytesOf(plan.alternative, level)});
    bars.push_back({"bound", "bound", plan.bounds[level].bytes});
    int64_t most = 1;
    for (const Bar &bar : bars)
      most = std::max(most, bar.bytes);
    double y = level * groupHeight;
    canvas.text({0, y + barHeight - 4}, plan.machine.levels[level].name,
                "start", "label strong");
    for (const Bar &bar : bars) {
      double length = longest * bar.bytes / most;
      std::string size = formatBytes(bar.bytes);
      canvas.text({left - 8, y + barHeight - 4}, bar.name, "end");
      canvas.box({left, y}, length, barHeight, bar.style,
                 bar.name.str() + ": " + std::to_string(bar.bytes) + " bytes");
      canvas.text({left + length + 6, y + barHeight - 4}, size);
      y += barHeight + 3;
    }
  }
}

//===----------------------------------------------------------------------===//
// Live sets
//===----------------------------------------------------------------------===//

void report::drawLive(raw_ostream &os, const model::KernelReport &kernel,
                      unsigned level) {
  constexpr double column = 84, barWidth = 52, left = 8, top = 34, tall = 130;
  const model::LevelCost &cost = kernel.plan.levels[level];
  const model::LevelReport &detail = kernel.levels[level];
  unsigned numOperators = kernel.problem.operators.size();
  double width = std::max(left + numOperators * column, 230.0);
  // A level that is nearly empty is drawn larger, without its capacity.
  bool showsCapacity = cost.capacityBytes < 4 * cost.liveBytes;
  double most = std::max<double>(
      1, showsCapacity ? std::max(cost.capacityBytes, cost.liveBytes)
                       : cost.liveBytes);
  double base = top + tall;
  Canvas canvas(os, width, base + 22, "Live set of " + cost.name);
  canvas.text({0, 12},
              cost.name + ", capacity " + formatBytes(cost.capacityBytes),
              "start", "label strong");
  for (auto [index, op] : enumerate(kernel.problem.operators)) {
    double x = left + index * column, y = base;
    for (const model::LiveBuffer &buffer : detail.buffers) {
      if (!(buffer.during >> index & 1))
        continue;
      double height = tall * buffer.bytes / most;
      y -= height;
      canvas.box({x, y}, barWidth, height, colour("fill", buffer.tensor),
                 kernel.problem.tensors[buffer.tensor].name + ": " +
                     formatBytes(buffer.bytes));
    }
    canvas.text({x + barWidth / 2, y - 4},
                formatBytes(detail.evaluation.liveAt[index]), "middle");
    canvas.text({x + barWidth / 2, base + 15}, op.name, "middle");
  }
  canvas.line({0, base}, {width, base}, "axis");
  if (showsCapacity) {
    double y = base - tall * cost.capacityBytes / most;
    canvas.line({0, y}, {width, y}, "limit");
  }
}

//===----------------------------------------------------------------------===//
// Groups
//===----------------------------------------------------------------------===//

/// Text that is too long for `most` characters ends in dots.
static std::string shorten(std::string text, size_t most) {
  return text.size() <= most ? text : text.substr(0, most - 3) + "...";
}

void report::drawGroups(raw_ostream &os, const GraphPlan &plan) {
  constexpr double width = 400, tall = 24, gap = 14, most = 260;
  constexpr size_t mostLetters = 44;
  size_t number = plan.groups.size();
  Canvas canvas(os, width + most + 90, number * (tall + gap),
                "Groups and what is stored between them");
  auto topOf = [&](unsigned group) { return group * (tall + gap); };
  for (const StoredTensor &between : plan.stored) {
    // What goes far swings wide.
    double distance = between.reader - between.writer;
    double reach = most * std::min(1.0, std::sqrt(distance / number));
    double from = topOf(between.writer) + 0.75 * tall;
    double to = topOf(between.reader) + 0.25 * tall;
    std::string size = formatBytes(plan.graph.tensors[between.tensor].bytes());
    canvas.bow({width, from}, {width, to}, reach, "stored",
               size + ": " + between.reason + " (rules for " + between.rule +
                   ")");
    canvas.text({width + 0.75 * reach + 4, (from + to) / 2 + 4}, size);
  }
  for (auto [index, group] : enumerate(plan.groups)) {
    std::string operators = listOperators(plan, group);
    canvas.box({1, topOf(index)}, width - 1, tall, "group " + group.kind,
               formatv("group {0}, {1}: {2}; moves {3}, {4} at least", group.id,
                       group.kind, operators,
                       formatBytes(static_cast<int64_t>(group.bytes)),
                       formatBytes(static_cast<int64_t>(group.compulsoryBytes)))
                   .str());
    canvas.text(
        {8, topOf(index) + 16},
        shorten(formatv("{0}: {1}", group.id, operators).str(), mostLetters),
        "start", "label strong");
    if (group.seconds > 0)
      canvas.text({width - 6, topOf(index) + 16}, formatSeconds(group.seconds),
                  "end");
  }
}

//===----------------------------------------------------------------------===//
// Roofline
//===----------------------------------------------------------------------===//

namespace {

/// A power of ten.
std::string formatTick(double value) {
  return value < 1 ? formatv("{0}", value).str()
                   : formatv("{0:F0}", value).str();
}

/// Places positive values on a line, decade by decade.
struct LogScale {
  double low = 1, high = 10, from = 0, to = 1;

  double operator()(double value) const {
    double share = std::log(value / low) / std::log(high / low);
    return from + share * (to - from);
  }
};

class Roofline {
public:
  Roofline(raw_ostream &os, const ChainPlan &plan)
      : plan(plan), peak(model::peakFlops(plan.machine, plan.threads)),
        canvas(os, width, height, "Roofline") {
    collect();
    setScales();
  }

  void draw() {
    drawGrid();
    for (unsigned level = 0; level < plan.machine.levels.size(); ++level)
      drawRoof(level);
    canvas.line({x(peak / fastest()), y(peak)}, {right, y(peak)}, "axis");
    canvas.text({right, y(peak) - 6}, formatFlops(peak) + " at most", "end");
    for (const Mark &mark : marks)
      drawMark(mark);
  }

private:
  enum class Kind { Plan, Alternative, Bound };
  struct Mark {
    Kind kind;
    unsigned level;
    double intensity, flops;
    std::string title;
  };

  double bandwidth(unsigned level) const {
    return model::bandwidthInto(plan.machine.levels[level], plan.threads);
  }
  double fastest() const {
    double most = 0;
    for (unsigned level = 0; level < plan.machine.levels.size(); ++level)
      most = std::max(most, bandwidth(level));
    return most;
  }

  void addMark(Kind kind, StringRef name, unsigned level,
               ArrayRef<model::KernelReport> kernels) {
    if (kernels.empty())
      return;
    model::RooflinePoint point = model::placeUnderRoof(
        plan.machine, plan.threads, level, plan.problem.multiplyAdds(),
        ChainPlan::bytesOf(kernels, level), ChainPlan::secondsOf(kernels));
    if (!std::isfinite(point.intensity) || point.flops <= 0)
      return;
    marks.push_back({kind, level, point.intensity, point.flops,
                     formatv("{0}, {1}: {2:F2} FLOP per byte, {3}",
                             plan.machine.levels[level].name, name,
                             point.intensity, formatFlops(point.flops))});
  }

  void collect() {
    for (unsigned level = 0; level < plan.machine.levels.size(); ++level) {
      if (int64_t bytes = plan.bounds[level].bytes) {
        model::RooflinePoint point =
            model::placeUnderRoof(plan.machine, plan.threads, level,
                                  plan.problem.multiplyAdds(), bytes, 0);
        marks.push_back(
            {Kind::Bound, level, point.intensity, point.attainable,
             formatv("{0}: no schedule has more than {1:F2} FLOP "
                     "per byte",
                     plan.machine.levels[level].name, point.intensity)});
      }
      addMark(Kind::Alternative, getAlternativeName(plan), level,
              plan.alternative);
      addMark(Kind::Plan, "this plan", level, plan.kernels);
    }
  }

  void setScales() {
    double lowX = 1, highX = 10, lowY = peak / 10;
    for (const Mark &mark : marks) {
      lowX = std::min(lowX, mark.intensity / 2);
      highX = std::max(highX, mark.intensity * 2);
      lowY = std::min(lowY, mark.flops / 2);
    }
    for (unsigned level = 0; level < plan.machine.levels.size(); ++level) {
      double ridge = peak / bandwidth(level);
      lowX = std::min(lowX, ridge / 8);
      highX = std::max(highX, ridge * 2);
    }
    x = {lowX, highX, left, right};
    y = {lowY, peak * 2, bottom, top};
  }

  void drawGrid() {
    auto firstDecade = [](double value) {
      return std::pow(10, std::ceil(std::log10(value)));
    };
    for (double value = firstDecade(x.low); value < x.high; value *= 10) {
      canvas.line({x(value), top}, {x(value), bottom}, "grid");
      canvas.text({x(value), bottom + 16}, formatTick(value), "middle");
    }
    for (double value = firstDecade(y.low); value < y.high; value *= 10) {
      canvas.line({left, y(value)}, {right, y(value)}, "grid");
      canvas.text({left - 6, y(value) + 4}, formatFlops(value), "end");
    }
    canvas.line({left, bottom}, {right, bottom}, "axis");
    canvas.line({left, top}, {left, bottom}, "axis");
    canvas.text({(left + right) / 2, height - 4}, "FLOP per byte", "middle");
  }

  void drawRoof(unsigned level) {
    double slope = bandwidth(level);
    double start = std::max(x.low, y.low / slope), ridge = peak / slope;
    if (start >= ridge)
      return;
    canvas.line({x(start), y(start * slope)}, {x(ridge), y(peak)},
                colour("line", level));
  }

  void drawMark(const Mark &mark) {
    Point at{x(mark.intensity), y(mark.flops)};
    // Marks at one place are all seen if those drawn later are smaller.
    double size = std::max(3.0, 7 - 1.5 * mark.level);
    switch (mark.kind) {
    case Kind::Plan:
      return canvas.circle(at, size, colour("dot fill", mark.level),
                           mark.title);
    case Kind::Alternative:
      return canvas.circle(at, size, colour("dot line", mark.level),
                           mark.title);
    case Kind::Bound:
      return canvas.triangle(at, size, colour("fill", mark.level), mark.title);
    }
  }

  static constexpr double width = 640, height = 350;
  static constexpr double left = 96, right = 624, top = 12, bottom = 306;

  const ChainPlan &plan;
  double peak;
  Canvas canvas;
  SmallVector<Mark, 9> marks;
  LogScale x, y;
};

} // namespace

void report::drawRoofline(raw_ostream &os, const ChainPlan &plan) {
  Roofline(os, plan).draw();
}
