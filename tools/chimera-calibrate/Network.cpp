//===- Network.cpp - Measure exchanges between processes ------------------===//
//
// Part of the Chimera project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Network.h"

#include "chimera_collectives.h"

#include "Chimera/Model/Network.h"
#include "Chimera/Runner/Launch.h"
#include "Chimera/Runner/Timing.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/TargetParser/Host.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>
#include <set>
#include <unistd.h>

using namespace mlir;
using namespace chimera;
using namespace chimera::calibrate;
using llvm::ArrayRef;
using llvm::createStringError;
using llvm::Expected;
using llvm::formatv;
using llvm::StringRef;
using model::Network;
using Kind = model::CollectiveKind;

/// Processes stand in two rows. Process i of the first row and process i of the
/// second are a pair: where MPI fills one machine after the other, they are on
/// two machines.
static constexpr int32_t kPair = 1, kAll = 3;

static constexpr std::pair<Kind, CollectiveKind> kKinds[] = {
    {Kind::AllReduce, CollectiveKind::AllReduce},
    {Kind::AllGather, CollectiveKind::AllGather},
    {Kind::ReduceScatter, CollectiveKind::ReduceScatter},
    {Kind::AllToAll, CollectiveKind::AllToAll},
    {Kind::Broadcast, CollectiveKind::Broadcast}};

/// Bytes on the wire.
static constexpr int64_t kSizes[] = {1 << 8,  1 << 10, 1 << 12,
                                     1 << 14, 1 << 16, 1 << 18,
                                     1 << 20, 1 << 22, 1 << 24};

static constexpr int64_t kElementBytes = sizeof(float);

namespace {
/// Times collectives in one process.
class Meter {
public:
  explicit Meter(int64_t processes);

  Network::Table measure(Kind kind, int32_t axes);

private:
  model::Collective run(Kind kind, int32_t axes, int64_t wireBytes);
  double timeOnce(llvm::function_ref<void()> exchange, int64_t count);

  int64_t processes;
  /// As many as the largest exchange has, and more than the caches that a core
  /// has or shares usually hold.
  std::vector<float> in, out;
  std::vector<int64_t> other;
};
} // namespace

Meter::Meter(int64_t processes)
    // Of what all have together a process sends half at least.
    : processes(processes),
      in(2 * kSizes[std::size(kSizes) - 1] / kElementBytes), out(in.size()),
      other((32 << 20) / sizeof(int64_t)) {}

/// Exchanges f32 such that about `wireBytes` are on the wire.
model::Collective Meter::run(Kind kind, int32_t axes, int64_t wireBytes) {
  int64_t group = axes == kAll ? processes : 2;
  // Of an all-gather and of what is dealt out, one part goes to each other
  // process.
  int64_t part = std::max<int64_t>(1, wireBytes / (group - 1) / kElementBytes);
  int64_t whole = part * group;
  switch (kind) {
  case Kind::AllReduce:
    whole = std::max<int64_t>(1, whole / 2);
    chimera_all_reduce(out.data(), out.data(), whole, CHIMERA_F32, CHIMERA_SUM,
                       axes);
    break;
  case Kind::AllGather:
    whole = part;
    chimera_all_gather(in.data(), out.data(), part, CHIMERA_F32, axes);
    break;
  case Kind::ReduceScatter:
    chimera_reduce_scatter(in.data(), out.data(), part, CHIMERA_F32,
                           CHIMERA_SUM, axes);
    break;
  case Kind::AllToAll:
    chimera_all_to_all(in.data(), out.data(), part, CHIMERA_F32, axes);
    break;
  case Kind::Broadcast:
    whole = wireBytes / kElementBytes;
    chimera_broadcast(out.data(), whole, CHIMERA_F32, /*root=*/0, axes);
    break;
  }
  return {kind, whole * kElementBytes, group};
}

/// Seconds of `exchange` in this process, which starts with all others after it
/// has read other data and written `count` elements of its own.
double Meter::timeOnce(llvm::function_ref<void()> exchange, int64_t count) {
  volatile int64_t sum =
      std::accumulate(other.begin(), other.end(), int64_t(0));
  (void)sum;
  std::fill_n(in.begin(), count, 1.0F);
  std::fill_n(out.begin(), count, 1.0F);
  int32_t none = 0;
  chimera_all_reduce(&none, &none, 1, CHIMERA_I32, CHIMERA_SUM, kAll);
  return runner::timeOnce(exchange);
}

Network::Table Meter::measure(Kind kind, int32_t axes) {
  Network::Table table{kind, axes == kAll ? processes : 2, {}};
  for (int64_t wireBytes : kSizes) {
    model::Collective what = run(kind, axes, wireBytes);
    int64_t count = what.payloadBytes / kElementBytes;
    auto exchange = [&] { run(kind, axes, wireBytes); };
    // All processes take as many turns as the first has time for.
    constexpr double enough = 0.05;
    double turn = runner::timeOnce([&] { timeOnce(exchange, count); });
    int64_t turns =
        std::clamp<int64_t>(static_cast<int64_t>(enough / turn), 5, 25);
    chimera_broadcast(&turns, 1, CHIMERA_I64, /*root=*/0, kAll);
    std::vector<double> times(turns);
    for (double &time : times)
      time = timeOnce(exchange, count);
    // A turn takes as long as in the slowest process.
    chimera_all_reduce(times.data(), times.data(), turns, CHIMERA_F64,
                       CHIMERA_MAXIMUM, kAll);
    llvm::sort(times);
    // Whatever else runs on the machine disturbs some turns.
    table.transfers.push_back({getWireBytes(what), times[times.size() / 4]});
  }
  // A smaller exchange takes no more.
  for (size_t entry = table.transfers.size() - 1; entry-- > 0;)
    table.transfers[entry].seconds = std::min(
        table.transfers[entry].seconds, table.transfers[entry + 1].seconds);
  return table;
}

//===----------------------------------------------------------------------===//
// What was measured
//===----------------------------------------------------------------------===//

static std::string describe(const Network::Table &table, const Network &known) {
  const Network::Transfer &first = table.transfers.front(),
                          &last = table.transfers.back();
  std::string text =
      formatv("{0} of {1}: {2:F1} us for {3} bytes on the wire, {4:F0} us for "
              "{5}",
              getName(table.kind), table.processes, 1e6 * first.seconds,
              first.bytes, 1e6 * last.seconds, last.bytes)
          .str();
  if (!known.exists())
    return text;
  // As an all-reduce of the same bytes on the wire in a group as large.
  double least = std::numeric_limits<double>::infinity(), most = 0;
  for (const Network::Transfer &transfer : table.transfers) {
    double predicted =
        known.getSeconds({Kind::Broadcast, transfer.bytes, table.processes});
    least = std::min(least, predicted / transfer.seconds);
    most = std::max(most, predicted / transfer.seconds);
  }
  return text + formatv("; all-reduces of 2 predict {0:F2} to {1:F2} of that",
                        least, most)
                    .str();
}

static SmallVector<TransferAttr> toAttributes(MLIRContext *context,
                                              const Network::Table &table) {
  SmallVector<TransferAttr> transfers;
  for (const Network::Transfer &transfer : table.transfers)
    transfers.push_back(TransferAttr::get(
        context, transfer.bytes,
        std::max<int64_t>(1, std::lround(1e9 * transfer.seconds))));
  return transfers;
}

/// "Open MPI v4.1.4, 2 processes on 1 machine of znver5"
static std::string describeProcesses(int64_t processes) {
  std::array<char, 64> name{};
  gethostname(name.data(), name.size() - 1);
  std::vector<char> names(processes * name.size());
  chimera_all_gather(name.data(), names.data(), name.size(), CHIMERA_I8, kAll);
  std::set<StringRef> machines;
  for (int64_t process = 0; process < processes; ++process)
    machines.insert(names.data() + process * name.size());
  return formatv("{0}, {1} processes on {2} machine{3} of {4}",
                 runner::getMPIVersion(), processes, machines.size(),
                 machines.size() == 1 ? "" : "s", llvm::sys::getHostCPUName())
      .str();
}

Expected<NetworkAttr> chimera::calibrate::measureNetwork(
    MLIRContext *context, int64_t processes,
    llvm::function_ref<void(const llvm::Twine &line)> report) {
  if (chimera_num_processes() != processes)
    return createStringError("MPI has started %lld processes, and "
                             "--processes=%lld",
                             (long long)chimera_num_processes(),
                             (long long)processes);
  if (processes % 2 != 0)
    return createStringError("exchanges are measured between pairs: "
                             "--processes has to be even");
  const int64_t rows[] = {2, processes / 2};
  chimera_check_grid(2, rows);
  std::string source = describeProcesses(processes);
  Meter meter(processes);
  Network known;
  SmallVector<TransferAttr> transfers;
  SmallVector<ExchangeAttr> measured;
  for (int32_t axes : {kPair, kAll}) {
    if (axes == kAll && processes == 2)
      break;
    for (auto [kind, attribute] : kKinds) {
      Network::Table table = meter.measure(kind, axes);
      if (chimera_process() == 0)
        report(describe(table, known));
      if (!known.exists()) {
        known.transfers = table.transfers;
        transfers = toAttributes(context, table);
        continue;
      }
      measured.push_back(ExchangeAttr::get(context, attribute, table.processes,
                                           toAttributes(context, table)));
    }
  }
  return NetworkAttr::get(context, source, transfers, measured,
                          /*processor=*/100);
}
